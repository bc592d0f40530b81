import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { Tmux } from '../programs/tmux.ts'
import { ChatHandler } from '../support/handlers/chat.ts'
import { UsersHandler } from '../support/handlers/users.ts'
import { perTest } from '../support/lifetime.ts'
import { createSandbox } from '../support/sandbox.ts'
import { serveHandler } from '../support/scripted-server.ts'
import { describeSample } from '../support/take-sample.ts'
import { until } from '../support/until.ts'
import { leftOut, startWine, windowsPath } from '../support/wine/wine.ts'

/**
 * Ctrl-C is sent by start-program.c: the console of Wine ends when a user presses Ctrl-C while a program reads
 * it as a key, as sessions do. It also shows parts of the escape sequences that it does not know.
 */
describeSample(`the executable for Windows, in a console${leftOut}`, 1, () => {
  const wine = startWine()
  const sandbox = perTest(createSandbox)
  const service = perTest(() => serveHandler(new ChatHandler()))
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

  it('resumes an import that Ctrl-C interrupted, and creates each user once', async () => {
    await using users = await serveHandler(new UsersHandler({ delay: 200 }))
    const file = join(sandbox.home, 'users.csv')
    const emails = Array.from({ length: 12 }, (_, index) => `user${index}@example.com`)
    writeFileSync(file, ['email', ...emails, ''].join('\r\n'))
    const args = ['users', 'import', windowsPath(file), '--yes', '--concurrency', '2']
    const service = { CHATCTL_BASE_URL: users.url, CHATCTL_API_KEY: 'key' }
    const importing = wine.startProgram(sandbox, args, { env: service, hasConsole: true })
    importing.stdin.end()
    await until(() => users.report().users.size > 2, 20_000)
    importing.interrupt()
    expect((await importing.ended).exitCode).to.equal(130)
    expect(users.report().users.size).to.be.below(emails.length)
    const resumed = await wine.run(sandbox, args, { env: service })
    expect(resumed.exitCode, resumed.stderr).to.equal(0)
    const met = [...users.report().creates].map(([email, creates]) => `${email} ${creates.met}`)
    expect(met.sort()).to.deep.equal(emails.map((email) => `${email} 201`).sort())
  })

  it('kills a credential command with the process that it has started when Ctrl-C interrupts', async () => {
    // A number that no other process has as an argument.
    const words = `ping -n ${100_000 + process.pid} 127.0.0.1`
    const settings = ['base_url=https://chat.example', `credential_command=cmd /c ${words}`]
    for (const setting of settings) await wine.run(sandbox, ['config', 'set', setting, '--profile', 'work'])
    const reading = wine.startProgram(sandbox, ['auth', 'token', '--profile', 'work'], { hasConsole: true })
    await until(() => isRunning(words), 20_000)
    reading.interrupt()
    const { exitCode, stderr } = await reading.ended
    expect(exitCode, stderr).to.equal(130)
    await until(() => !isRunning(words))
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

  it('holds a conversation, ignores Ctrl-Z, saves a reply in the home directory, and ends with Ctrl-D', async () => {
    service.answerNext('Good morning, Zoë.')
    const terminal = await Tmux.run(sandbox, wine.terminalCommand(sandbox, ['chat'], { env: env() }))
    try {
      await terminal.waitFor('/help for commands')
      // Wine loses an Enter that comes before the session reads keys, and does not show its prompt.
      await terminal.settle(1_000)
      await terminal.say('Grüße')
      await terminal.waitFor('Good morning, Zoë.')
      await terminal.key('C-z')
      await terminal.say('Second')
      await terminal.waitFor('You said: Second')
      await terminal.say('/save ~\\reply.md')
      await terminal.waitFor('Saved to')
      expect(readFileSync(join(sandbox.home, 'reply.md'), 'utf8')).to.contain('You said: Second')
      await terminal.key('C-d')
      expect(await terminal.exitCode()).to.equal(0)
      expect(service.sends.map(({ message }) => message)).to.deep.equal(['Grüße', 'Second'])
    } finally {
      await terminal.close()
    }
  })
})

/** Whether a process was started with these words, as Linux shows the processes of Wine. */
function isRunning(words: string): boolean {
  return readdirSync('/proc').some((pid) => {
    try {
      const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
      return !/^cmd/.test(line[0] ?? '') && line.join(' ').trimEnd() === words
    } catch {
      return false
    }
  })
}
