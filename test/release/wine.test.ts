import { linkSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { SettingsHandler } from '../support/handlers/settings.ts'
import { UsersHandler } from '../support/handlers/users.ts'
import { perSuite, perTest } from '../support/lifetime.ts'
import type { Run } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import { serveHandler } from '../support/scripted-server.ts'
import { describeSample } from '../support/take-sample.ts'
import { leftOut, startWine, windowsPath } from '../support/wine/wine.ts'

/** The executable for Windows under Wine, with files of a Windows user. */
describeSample(`the executable for Windows, with files${leftOut}`, 2, () => {
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
    const env = {
      USERPROFILE: windowsPath(home),
      APPDATA: windowsPath(home),
      LOCALAPPDATA: windowsPath(local),
    }
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
    const { stdout } = await run(['history', 'export', '-o', 'jsonl'])
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
