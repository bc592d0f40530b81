import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { perTest } from '../../support/lifetime.ts'
import { describeSample } from '../../support/take-sample.ts'
import { converse, hasPrompt, TalkSession, waitForTurn } from './talk-session.ts'

describeSample('a session in various terminals', 2, () => {
  const talk = perTest(() => TalkSession.begin())

  const colors = /␛\[[\d;]*(3[1-7]|9[1-7]|38;)[\d;]*m/
  const markdown = '# Title\n\nWith `code` and\n\n```js\nconst a = "text"\n```\n\nThe end.'

  it('refuses to start in a terminal that cannot move the cursor', async () => {
    const terminal = await talk.start(['chat'], { env: { TERM: 'dumb' } })
    await terminal.waitFor('chatctl chat send')
    expect(await terminal.exitCode()).to.equal(2)
  })

  it('uses no color with NO_COLOR', async () => {
    talk.server.answerNext(markdown)
    const terminal = await talk.chat([], { env: { NO_COLOR: '1' } })
    await converse(terminal, 'Hello', 'The end.')
    expect(await terminal.styledScreen()).not.to.match(colors)
  })

  it('uses color by default', async () => {
    talk.server.answerNext(markdown)
    const terminal = await talk.chat()
    await converse(terminal, 'Hello', 'The end.')
    expect(await terminal.styledScreen()).to.match(colors)
  })

  it('moves nothing while a reply streams with --plain, for screen readers', async () => {
    const answer = talk.server.answerNext({ text: ['One, ', 'two, ', 'three.'], held: true })
    const terminal = await talk.chat(['--plain'])
    const written = await terminal.record(join(talk.sandbox.home, 'written'))
    await terminal.say('Count')
    await answer.begun
    // Long enough for a line with the elapsed time.
    await sleep(1500)
    const before = written()
    answer.release()
    await waitForTurn(terminal, 'One, two, three.')
    expect(before).to.match(/Count\s*(␛\[[?\d;]*[a-zA-Z]|\s)*$/)
    // Between the first and the last word, the cursor does not move up, and nothing is erased.
    const answered = written().slice(written().indexOf('One,'), written().indexOf('three.'))
    expect(answered).not.to.match(/␛\[\d*[AFHJK]/)
  })

  it('fits its output into 40 columns', async () => {
    talk.server.answerNext(
      'Some words that are wrapped to the width, and a\n\n- list of things that is wrapped too.',
    )
    const terminal = await talk.chat([], { columns: 40, rows: 60 })
    await terminal.waitUntil(hasPrompt, 'the prompt')
    await converse(terminal, 'Hello', 'too.')
    await terminal.say('/help')
    await terminal.waitFor('/quit')
    // Lines that tmux has wrapped are joined, so that a line of the program that is too long is detected.
    const joined = await terminal.joined()
    for (const line of joined.split('\n').filter((each) => !each.includes('http'))) {
      expect(line.length, line).to.be.at.most(40)
    }
  })

  for (const [name, args, stdin] of [
    ['stdin and stdout are pipes', ['chat'], 'Hello\n'],
    ['--no-input is given', ['chat', '--no-input'], ''],
  ] as const) {
    it(`refuses to start and names chat send if ${name}`, async () => {
      const { exitCode, stdout, stderr } = await talk.run(args, { stdin })
      expect(exitCode).to.equal(2)
      expect(stdout).to.equal('')
      expect(stderr).to.contain('chatctl chat send')
      expect(talk.server.requests).to.deep.equal([])
    })
  }

  it('refuses to start if only stdout is a pipe', async () => {
    const shell = await talk.shell()
    await shell.say('"$NODE" "$CHATCTL" chat | cat; echo done')
    await shell.waitFor(/^done$/m)
    expect(await shell.screen()).to.contain('chatctl chat send')
  })

  it('ends with a complete transcript if the terminal is closed', async () => {
    const terminal = await talk.chat()
    await converse(terminal, 'Hello')
    const pid = await terminal.pid()
    await terminal.close()
    const deadline = Date.now() + 5_000
    while (isAlive(pid) && Date.now() < deadline) await sleep(20)
    expect(isAlive(pid)).to.equal(false)
    const sessions = (await talk.json('chat', 'sessions')) as { turns: number }[]
    expect(sessions.map(({ turns }) => turns)).to.deep.equal([1])
  })

  it('shows only replies with --quiet, and requests with --debug', async () => {
    const quiet = await talk.start(['chat', '--quiet'])
    await quiet.waitFor(/^>$/m)
    await quiet.say('Hello')
    await quiet.waitFor(/You said: Hello\n+>/)
    expect(await quiet.screen()).not.to.match(/total|Ctrl-D/)
    const debug = await talk.chat(['--debug'])
    await debug.say('Hello')
    await debug.waitFor('< 200 OK')
  })
})

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
