import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { expectFailure } from '../../support/expect-failure.ts'
import { ChatHandler } from '../../support/handlers/chat.ts'
import { perTest } from '../../support/lifetime.ts'
import { runChatctl, startChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { failing, json, type RecordedRequest, serveHandler } from '../../support/scripted-server.ts'
import { until } from '../../support/until.ts'

/** Tells the user of a key. */
class AccountHandler extends ChatHandler {
  /** Whether only the newest page of the history can be read. */
  isBroken = false

  override choose(request: RecordedRequest) {
    if (this.isBroken && request.path.includes('before=')) return failing(400, 'broken', 'Broken')
    if (!request.path.startsWith('/api/user/profile')) return super.choose(request)
    return json(200, { id: request.headers.authorization?.includes('alice') ? 'u-alice' : 'u-bob' })
  }
}

describe('a conversation of another user', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(() => serveHandler(new AccountHandler()))
  const env = (user: string) => ({ CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: `key-of-${user}` })
  const as = (user: string, ...args: string[]) => runChatctl(sandbox, args, { env: env(user) })
  const users = ['is of the user u-alice', 'you are the user u-bob']
  const path = () => {
    const directory = join(sandbox.home, '.local', 'share', 'chatctl', 'sessions')
    return join(directory, readdirSync(directory)[0] ?? '')
  }

  beforeEach(async () => {
    // Once, chatctl asks for the user of a key.
    await as('alice', 'history', 'sync')
    await as('alice', 'chat', 'send', 'about ibexes', '--system', 'Be brief')
    await as('bob', 'history', 'sync')
  })

  it('has its user in the first line of its transcript', () => {
    expect(JSON.parse(readFileSync(path(), 'utf8').split('\n')[0] ?? '').user).to.equal('u-alice')
  })

  it('is not continued, copied, exported, or found, and nothing is sent', async () => {
    const { length } = server.completions
    for (const args of [
      ['chat', 'send', '-c', 'And?'],
      ['chat', 'send', '-c', '--fork', 'And?'],
      ['history', 'export'],
      ['history', 'export', '--local'],
      ['history', 'search', 'ibexes'],
    ])
      expectFailure(await as('bob', ...args), 7, ...users)
    expect(server.completions).to.have.lengthOf(length)
    expect((await as('alice', 'chat', 'send', '-c', 'And?')).exitCode).to.equal(0)
    for (const args of [
      ['chat', 'sessions'],
      ['history', 'export', '--stored'],
    ])
      expect((await as('bob', ...args)).exitCode).to.equal(0)
  })

  it('keeps its deliveries when another user reads the history', async () => {
    await as('alice', 'chat', 'send', 'stored ibexes')
    const sessions = async () => (await as('alice', 'chat', 'sessions', '--json')).stdout
    const before = await sessions()
    for (const args of [
      ['history', 'list'],
      ['history', 'sync', '--full'],
      ['history', 'export', '--stored'],
    ]) {
      server.forget('ctx_1', 9)
      expect((await as('bob', ...args)).exitCode, args.join(' ')).to.be.oneOf([0, 7])
    }
    expect(await sessions()).to.equal(before)
  })

  it('is continued in a terminal after a yes', async () => {
    const running = startChatctl(sandbox, ['chat', 'send', '-c', 'And?'], {
      env: env('bob'),
      terminal: { columns: 200 },
    })
    await until(() => running.written().stdout.includes('Continue it?'))
    expect(running.written().stdout).to.contain(users[0]).and.contain(users[1])
    running.stdin.write('y\r')
    expect((await running.ended).exitCode).to.equal(0)
    expect(server.completions).to.have.lengthOf(2)
  })

  it('is not resumed by an export of another user, which says so', async () => {
    for (let turn = 1; turn <= 120; turn++) server.say('ctx_1', turn % 2 ? 'user' : 'assistant', `${turn}`)
    server.isBroken = true
    const interrupted = await as('alice', 'history', 'export', '--stored')
    expect(interrupted.stderr).to.contain('100 messages saved')
    server.isBroken = false
    const other = await as('bob', 'history', 'export', '--stored')
    expect(other.stderr).to.contain('An interrupted export of another user').and.not.contain('Resuming')
    expect((await as('alice', 'history', 'export', '--stored')).stderr).to.contain(
      'Resuming after 100 messages',
    )
  })
})
