import { linkSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { startBearerService } from '../support/handlers/bearer.ts'
import { SettingsHandler } from '../support/handlers/settings.ts'
import { UsersHandler } from '../support/handlers/users.ts'
import { perSuite, perTest } from '../support/lifetime.ts'
import { startOidcProvider } from '../support/oidc-provider.ts'
import type { Run } from '../support/run-chatctl.ts'
import { createSandbox, type Sandbox } from '../support/sandbox.ts'
import { serveHandler } from '../support/scripted-server.ts'
import { signInByHttp } from '../support/sign-in-by-http.ts'
import { describeSample } from '../support/take-sample.ts'
import { until } from '../support/until.ts'
import { leftOut, startWine, windowsPath } from '../support/wine/wine.ts'

/** The executable for Windows under Wine, with files of a Windows user. */
describeSample(`the executable for Windows, with files${leftOut}`, 1, () => {
  const wine = startWine()
  const sandbox = perTest(createSandbox)

  async function run(args: readonly string[], stdin = '', env = {}): Promise<Run> {
    const ran = await wine.run(sandbox, args, { stdin, env })
    expect(ran.exitCode, ran.stderr).to.equal(0)
    return ran
  }

  it('chats with the embedded service, and continues the conversation', async () => {
    const first = await run(['chat', 'send', 'Grüße, 世界', '--json'])
    const { response, context_id } = JSON.parse(first.stdout)
    expect(response).to.contain('2 words and 9 characters')
    expect(JSON.parse(first.stderr).notice.message).to.contain(
      windowsPath(join(sandbox.home, 'AppData/Local/chatctl')),
    )
    const second = await run(['chat', 'send', '-', '--continue', '--json'], 'Three more words\r\n')
    expect(JSON.parse(second.stdout)).to.include({ context_id })
    const listed = await run(['history', 'list', '--json'])
    expect(JSON.parse(listed.stdout).messages.map(({ content }: { content: string }) => content)).to.include(
      'Grüße, 世界',
    )
  })

  it('uses a home directory with spaces and non-ASCII characters', async () => {
    const home = join(sandbox.home, "Zoë O'Brien 日本 & Co")
    mkdirSync(home)
    const local = join(home, 'AppData', 'Local')
    const own = windowsPath(home)
    const env = { USERPROFILE: own, APPDATA: own, LOCALAPPDATA: windowsPath(local) }
    await run(['config', 'set', 'alias.fast', 'small'], '', env)
    expect(readdirSync(join(home, 'chatctl'))).to.include('config.json')
    await run(['chat', 'send', 'Hello'], '', env)
    expect(readdirSync(join(local, 'chatctl'))).to.include.members(['chatctl.db', 'sessions'])
    writeFileSync(join(home, 'Grüße %TEMP%.txt'), 'one two three')
    const file = windowsPath(join(home, 'Grüße %TEMP%.txt'))
    const dry = await run(['chat', 'send', 'Read', '--file', file, '--dry-run'], '', env)
    expect(dry.stdout + dry.stderr)
      .to.contain('Grüße %TEMP%.txt')
      .and.contain('one two three')
  })

  it('runs from a path with spaces and non-ASCII characters, and starts an editor and a credential command', async () => {
    const program = join(sandbox.home, "Zoë's tools 日本", 'chat ctl.exe')
    mkdirSync(dirname(program))
    linkSync(wine.program, program)
    const sameMachine = wine.with(program)
    const ran = async (args: readonly string[], env = {}) => {
      const { exitCode, stdout, stderr } = await sameMachine.run(sandbox, args, { env })
      expect(exitCode, stderr).to.equal(0)
      return stdout
    }
    expect(await ran(['chat', 'send', 'Hello'])).to.contain('1 word')
    const editor = 'cmd /c echo app_name: Edited >'
    await ran(['settings', 'edit', '--yes', '--profile', 'local'], { EDITOR: editor })
    expect(await ran(['settings', 'get', 'app_name', '--profile', 'local'])).to.equal('Edited\n')
    await ran(['config', 'set', 'base_url=https://chat.example', '--profile', 'work'])
    await ran(['config', 'set', 'credential_command=cmd /c echo key-of-a-command', '--profile', 'work'])
    expect(await ran(['auth', 'token', '--profile', 'work'])).to.equal('key-of-a-command\n')
  })

  it('loses no change of four processes that change the configuration at the same time', async () => {
    const models = ['a', 'b', 'c', 'd']
    await Promise.all(models.map((model) => run(['config', 'set', `model=${model}`, '--profile', model])))
    const { profiles } = JSON.parse(
      readFileSync(join(sandbox.home, 'AppData/Roaming/chatctl/config.json'), 'utf8'),
    )
    expect(profiles).to.deep.equal(Object.fromEntries(models.map((model) => [model, { model }])))
  })

  it('restores a backup of the embedded service', async () => {
    await run(['chat', 'send', 'Before the backup'])
    const backup = windowsPath(join(sandbox.home, 'backup é.db'))
    await run(['service', 'backup', '--to', backup])
    await run(['chat', 'send', 'After the backup'])
    await run(['service', 'restore', backup, '--yes'])
    const { stdout } = await run(['history', 'export', '--stored', '-o', 'jsonl'])
    expect(stdout).to.contain('Before the backup').and.not.contain('After the backup')
  })

  it('exports the history to a file', async () => {
    await run(['chat', 'send', 'Grüße'])
    const file = join(sandbox.home, 'my history.json')
    await run(['history', 'export', '--to', windowsPath(file)])
    const { messages } = JSON.parse(readFileSync(file, 'utf8'))
    expect(messages.map(({ content }: { content: string }) => content)).to.include('Grüße')
    // Replaces a file that exists.
    await run(['history', 'export', '--to', windowsPath(file)])
  })

  describe('and a service', () => {
    const service = perSuite(() => serveHandler(new SettingsHandler()))

    it('applies a settings file with a byte order mark and CRLF', async () => {
      const file = join(sandbox.home, 'settings.yaml')
      writeFileSync(file, '\ufeffapp_name: Zoë’s chat\r\ntheme:\r\n  mode: dark\r\n')
      const env = { CHATCTL_BASE_URL: service.url, CHATCTL_API_KEY: 'key' }
      await run(['settings', 'apply', windowsPath(file), '--yes'], '', env)
      expect(service.settings).to.deep.include({ app_name: 'Zoë’s chat' })
      expect(service.settings.theme).to.include({ mode: 'dark' })
      const again = await run(['settings', 'diff', windowsPath(file), '--exit-code'], '', env)
      expect(again.stderr).not.to.contain('Error')
    })
  })

  describe('and a service with users', () => {
    const service = perTest(() => serveHandler(new UsersHandler()))

    it('imports users from a CSV file with a byte order mark and CRLF, once', async () => {
      const file = join(sandbox.home, 'users é.csv')
      writeFileSync(
        file,
        '\ufeffemail,name\r\nada@example.com,"Ada, ""Countess""\r\nof Lovelace"\r\nzoe@example.com,Zoë\r\n',
      )
      const env = { CHATCTL_BASE_URL: service.url, CHATCTL_API_KEY: 'key' }
      const args = ['users', 'import', windowsPath(file), '--yes']
      await run(args, '', env)
      const names = () => [...service.report().users.values()].map(({ name }) => name).sort()
      expect(names()).to.deep.equal(['Ada, "Countess"\r\nof Lovelace', 'Zoë'])
      await run(args, '', env)
      expect(names()).to.have.lengthOf(2)
      expect([...service.report().creates.values()].map(({ met }) => met)).to.deep.equal([[201], [201]])
    })
  })
})

describeSample(`the executable for Windows, signed in${leftOut}`, 1, () => {
  const wine = startWine()
  const sandbox = perTest(createSandbox)
  const service = perSuite(() => startBearerService(() => true))

  it('stores an API key in the Credential Manager, and deletes it when the user signs out', async () => {
    const key = 'key-for-the-credential-manager'
    const login = `auth login --profile work --base-url ${service.url} --with-api-key --no-verify --json`
    const stored = await wine.run(sandbox, login.split(' '), { stdin: `${key}\r\n` })
    expect(stored.exitCode, stored.stderr).to.equal(0)
    expect(JSON.parse(stored.stdout)).to.include({ profile: 'work', storage: 'keychain' })
    expect(filesWith(sandbox, key)).to.deep.equal([])
    const token = ['auth', 'token', '--profile', 'work']
    expect((await wine.run(sandbox, token)).stdout).to.equal(`${key}\n`)
    const logout = await wine.run(sandbox, ['auth', 'logout', '--profile', 'work'])
    expect(logout.exitCode, logout.stderr).to.equal(0)
    const gone = await wine.run(sandbox, token)
    expect(gone.exitCode).to.equal(4)
    expect(gone.stderr).to.contain('chatctl auth login --profile work')
  })

  describe('with OAuth', () => {
    const server = perSuite(() => startOidcProvider())

    it('receives the response of the authorization server on loopback, and renews the tokens', async () => {
      const flags = ['--profile', 'work', '--base-url', service.url, '--auth-url', server.url]
      const login = wine.startProgram(sandbox, [
        ...['auth', 'login', ...flags, '--client-id', server.clientId, '--no-browser'],
        ...['--scope', 'chat:read chat:write'],
      ])
      const address = () => /^To sign in, open this URL:\r?\n(.+)\r?\n/m.exec(login.written().stderr)?.[1]
      await until(() => address() !== undefined, 20_000)
      await signInByHttp(address() ?? '')
      const { exitCode, stderr } = await login.ended
      expect(exitCode, stderr).to.equal(0)
      const before = await wine.run(sandbox, ['auth', 'token'])
      const renewed = await wine.run(sandbox, ['auth', 'refresh'])
      expect(renewed.exitCode, renewed.stderr).to.equal(0)
      const after = await wine.run(sandbox, ['auth', 'token'])
      expect(after.stdout).to.match(/\S/).and.not.equal(before.stdout)
      expect(filesWith(sandbox, after.stdout.trim())).to.deep.equal([])
    })
  })
})

/** The files of a sandbox that contain a text. */
function filesWith({ home }: Sandbox, text: string): string[] {
  return readdirSync(home, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => readFileSync(path).includes(text))
}
