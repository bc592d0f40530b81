import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { perTest } from '../../support/lifetime.ts'
import { describeSample } from '../../support/take-sample.ts'
import { until } from '../../support/until.ts'
import { TalkSession } from './talk-session.ts'

describeSample('a session in various terminals', 2, () => {
  const talk = perTest(() => TalkSession.begin())

  const markdown = '# Title\n\nWith `code` and\n\n```js\nconst a = "text"\n```\n\nThe end.'

  it('refuses to start in a terminal that cannot move the cursor', async () => {
    const terminal = await talk.start(['chat'], { env: { TERM: 'dumb' } })
    await terminal.waitFor('chatctl chat send')
    expect(await terminal.exitCode()).to.equal(2)
  })

  for (const [title, env, isColored] of [
    ['uses no color with NO_COLOR', { NO_COLOR: '1' }, false],
    ['uses color by default', {}, true],
  ] as const)
    it(title, async () => {
      talk.server.answerNext(markdown)
      const terminal = await talk.chat([], { env })
      await terminal.converse('Hello', 'The end.')
      const colors = /␛\[[\d;]*(3[1-7]|9[1-7]|38;)[\d;]*m/
      expect(colors.test(await terminal.styledScreen())).to.equal(isColored)
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
    await terminal.turn('One, two, three.')
    expect(before).to.match(/Count\s*(␛\[[?\d;]*[a-zA-Z]|\s)*$/)
    // Between the first and the last word, the cursor does not move up, and nothing is erased.
    const answered = written().slice(written().indexOf('One,'), written().indexOf('three.'))
    expect(answered).not.to.match(/␛\[\d*[AFHJK]/)
  })

  it('fits its output into 40 columns', async () => {
    const text = 'Some words that are wrapped to the width, and a\n\n- list of things that is wrapped too.'
    talk.server.answerNext(text)
    const terminal = await talk.chat([], { columns: 40, rows: 60 })
    await terminal.converse('Hello', 'too.')
    await terminal.ask('/help', '/quit')
    // Lines that tmux has wrapped are joined, so that a line of the program that is too long is detected.
    const joined = await terminal.joined()
    for (const line of joined.split('\n').filter((each) => !each.includes('http')))
      expect(line.length, line).to.be.at.most(40)
  })

  for (const [name, args, stdin] of [
    ['stdin and stdout are pipes', ['chat'], 'Hello\n'],
    ['--no-input is given', ['chat', '--no-input'], ''],
  ] as const) {
    it(`refuses to start and names chat send if ${name}`, async () => {
      const { exitCode, stdout, stderr } = await talk.run(args, { stdin })
      expect({ exitCode, stdout }).to.deep.equal({ exitCode: 2, stdout: '' })
      expect(stderr).to.contain('chatctl chat send')
      expect(talk.server.requests).to.deep.equal([])
    })
  }

  it('refuses to start if only stdout is a pipe', async () => {
    const shell = await talk.shell()
    const screen = await shell.ask('"$NODE" "$CHATCTL" chat | cat; echo done', /^done$/m)
    expect(screen).to.contain('chatctl chat send')
  })

  it('ends with a complete transcript if the terminal is closed', async () => {
    const terminal = await talk.chat()
    await terminal.converse('Hello')
    const pid = await terminal.pid()
    await terminal.close()
    await until(() => !readdirSync('/proc').includes(`${pid}`), 5_000)
    expect((await talk.sessions()).map(({ turns }) => turns)).to.deep.equal([1])
  })

  it('shows only replies with --quiet, and requests with --debug', async () => {
    const quiet = await talk.start(['chat', '--quiet'])
    await quiet.waitFor(/^>$/m)
    expect(await quiet.ask('Hello', /You said: Hello\n+>/)).not.to.match(/total|Ctrl-D/)
    const debug = await talk.chat(['--debug'])
    await debug.ask('Hello', '< 200 OK')
  })
})
