import { expect } from 'chai'
import { ChatServer } from '../support/chat-server.ts'
import { perTest } from '../support/lifetime.ts'
import { createSandbox } from '../support/sandbox.ts'
import { until } from '../support/until.ts'
import { leftOut, startWine } from '../support/wine/wine.ts'
import { Tmux } from './tmux.ts'

describe(`the executable for Windows, in a console${leftOut}`, function () {
  this.timeout(120_000)
  const wine = startWine()
  const sandbox = perTest(createSandbox)
  const service = perTest(() => ChatServer.start())
  const env = () => ({ CHATCTL_BASE_URL: service.url, CHATCTL_API_KEY: 'key' })

  it('keeps the part of the reply that has arrived when Ctrl-C interrupts chat send', async () => {
    const answer = service.answerNext({ text: ['The first half ', 'and the rest'], held: true })
    const sending = wine.startProgram(sandbox, ['chat', 'send', 'Hello', '--stream'], {
      env: env(),
      hasConsole: true,
    })
    sending.stdin.end()
    await answer.begun
    answer.release(1)
    await until(() => sending.written().stdout.includes('half'), 20_000)
    sending.interrupt()
    const { exitCode, stdout, stderr } = await sending.ended
    expect(exitCode, stderr).to.equal(130)
    expect(stdout).to.contain('The first half').and.not.contain('rest')
    const shown = await wine.run(sandbox, ['chat', 'show', 's'], { env: env() })
    expect(shown.stdout).to.contain('The first half')
  })

  it('runs the embedded service until Ctrl-C', async () => {
    const args = ['service', 'run', '--port', '0', '--admin-port', 'off', '--json']
    const running = wine.startProgram(sandbox, args, { hasConsole: true })
    await until(() => running.written().stdout.includes('\n'), 20_000)
    const { url } = JSON.parse(running.written().stdout)
    const created = await wine.run(sandbox, ['service', 'keys', 'create', '--name', 'x', '--json'])
    const { key } = JSON.parse(created.stdout)
    const response = await fetch(`${url}/api/user/profile`, { headers: { authorization: `Bearer ${key}` } })
    expect(response.status).to.equal(200)
    // Commands find the service that runs on the same data.
    const sent = await wine.run(sandbox, ['chat', 'send', 'Hello'])
    expect(sent.exitCode, sent.stderr).to.equal(0)
    running.interrupt()
    expect((await running.ended).exitCode).to.equal(0)
  })

  it('holds a conversation, ignores Ctrl-Z, and ends with Ctrl-D', async () => {
    service.answerNext('Good morning, Zoë.')
    const terminal = await Tmux.run(sandbox, wine.terminalCommand(sandbox, ['chat'], { env: env() }))
    try {
      await terminal.waitFor('/help for commands')
      await terminal.say('Grüße')
      await terminal.waitFor('Good morning, Zoë.')
      await terminal.key('C-z')
      await terminal.say('Second')
      await terminal.waitFor('You said: Second')
      await terminal.key('C-d')
      expect(await terminal.exitCode()).to.equal(0)
      expect(service.sends.map(({ message }) => message)).to.deep.equal(['Grüße', 'Second'])
    } finally {
      await terminal.close()
    }
  })
})
