import { basename } from 'node:path'
import { expect } from 'chai'
import type { TranscriptLine } from '../../../src/chat/transcript/transcript-line.ts'
import { perTest } from '../../support/lifetime.ts'
import { failing } from '../../support/scripted-server.ts'
import { type SessionRun, SessionWorld } from './session-run.ts'

const at = '2026-01-02T03:04:05.000Z'
const name = { context_id: 'ctx_1' }
const user = (turn: number, text: string): TranscriptLine => ({ type: 'user', turn, at, text })
const delta = (turn: number, text: string): TranscriptLine => ({ type: 'delta', turn, text })
const end = (turn: number, more: object): TranscriptLine =>
  ({ type: 'end', turn, at, complete: false, verified: false, ...more }) as TranscriptLine

describe('a resumed session', () => {
  const world = perTest(() => SessionWorld.open())

  const resume = (): Promise<SessionRun> => world.resume()

  const endings: [string, object | undefined, string][] = [
    ['interrupted by the user', { interrupted: true }, '[interrupted after 6 characters]'],
    ['truncated', { reason: 'the line went dead' }, '[truncated after 6 characters: the line went dead]'],
    ['failed', { error: { code: 'x', message: 'No GPU' } }, '[failed after 6 characters: No GPU]'],
    ['lost in a crash', undefined, '[lost after 6 characters: ended by a crash]'],
  ]
  for (const [how, ending, words] of endings) {
    it(`shows that a reply was ${how}, and /continue requests the rest`, async () => {
      world.server.say('ctx_1', 'user', 'Hello')
      world.plant([
        user(1, 'Hello'),
        { type: 'start', turn: 1, at, ...name },
        delta(1, 'Half a'),
        ...(ending ? [end(1, ending)] : []),
      ])
      const run = await resume()
      expect(await run.terminal.text()).to.contain(words)
      world.server.answerNext({ text: ' reply.' })
      const shown = await run.say('/continue', /Continue exactly[\s\S]*reply\.[\s\S]*total/)
      expect(shown).not.to.contain('The last reply has ended')
      expect(world.server.requestsOf('/api/chat/history').length).to.be.above(1)
    })
  }

  it('shows earlier tables with the widths of all rows', async () => {
    const cell = 'a sentence that needs most of the columns of this terminal'
    const table = `| n | text |\n|---|---|\n${'| 1 | a |\n'.repeat(9)}| 2 | ${cell} |\n`
    world.server.say('ctx_1', 'user', 'Hello')
    world.server.say('ctx_1', 'assistant', table)
    const complete = { complete: true, verified: true }
    world.plant([
      user(1, 'Hello'),
      { type: 'start', turn: 1, at, ...name },
      delta(1, table),
      end(1, complete),
    ])
    const run = await resume()
    expect(await run.terminal.text()).to.contain(`2 │ ${cell}`)
  })

  it('gets the rest of an interrupted reply from the history with /continue', async () => {
    world.plant([
      user(1, 'Hello'),
      { type: 'start', turn: 1, at, ...name },
      delta(1, 'Half a'),
      end(1, { interrupted: true }),
    ])
    world.server.faults.set('/api/chat/history', [failing(503, 'busy', 'Not now')])
    const run = await resume()
    world.server.say('ctx_1', 'user', 'Hello')
    world.server.say('ctx_1', 'assistant', 'Half a reply.')
    await run.say('/continue', '[the rest of the reply, from the history of the service]')
    expect(world.server.sends).to.deep.equal([])
  })

  it('shows the status of every turn, also after the conversation was rewritten', async () => {
    const messages = [
      { role: 'user' as const, content: 'first' },
      { role: 'assistant' as const, content: 'one' },
      { role: 'user' as const, content: 'second' },
      { role: 'assistant' as const, content: 'two' },
    ]
    world.plant([
      { type: 'options', at, mode: 'completions' },
      user(1, 'first'),
      delta(1, 'one'),
      end(1, { interrupted: true }),
      user(2, 'second'),
      delta(2, 'two'),
      end(2, { complete: true, verified: true }),
      { type: 'conversation', at, messages, turns: [1, 1, 2, 2] },
    ])
    const run = await resume()
    expect(await run.terminal.text()).to.match(
      /one\n\[interrupted after 3 characters\]\n\n> second\n\ntwo\n(?!\[)/,
    )
    await run.say('/continue', 'The last reply has ended')
  })

  it('shows a message without a reply, which /retry sends again', async () => {
    world.plant([user(1, 'Hello'), end(1, { error: { code: 'x', message: 'No GPU' } })])
    const run = await resume()
    expect(await run.terminal.text()).to.contain('> Hello\n[failed: No GPU; /retry sends it again]')
    await run.say('/retry', 'You said: Hello')
    expect(world.server.sends.map(({ message }) => message)).to.deep.equal(['Hello'])
  })

  it('counts turns the same way at its end, in /info, and in the list of sessions', async () => {
    const first = await world.run()
    await first.say('one', /You said: one[\s\S]*total/)
    world.server.failNext(failing(500, 'broken', 'Out of order'))
    await first.say('two', 'Out of order')
    expect(await first.leave()).to.match(/^2 turns: one\nResume with: chatctl chat --resume s\S+$/m)
    const second = await resume()
    await second.say('three', /You said: three[\s\S]*total/)
    const info = await second.say('/info', /^transcript\b/m)
    expect(info).to.match(/^name +one\nturns +3, 1 of them without a reply$/m)
    await second.say('/name first', 'is now named')
    expect(await second.say('/info', /^name +first$/m)).to.match(/^transcript\b/m)
    expect(await second.leave()).to.match(/^3 turns: first\nResume with/m)
    expect(world.transcript().turns).to.have.length(3)
  })

  it('counts the earlier messages, not turns, that it does not show', async () => {
    const first = await world.run()
    for (const words of ['one', 'two', 'three'])
      await first.say(words, new RegExp(`You said: ${words}[\\s\\S]*total`))
    await first.leave()
    const second = await resume()
    expect(await second.terminal.text()).to.contain('… 2 earlier messages. Show them with: /history 6')
  })

  it('shows messages that only this machine has after older messages of the service', async () => {
    world.plant(
      [
        user(1, 'mine'),
        { type: 'start', turn: 1, at: new Date().toISOString(), ...name },
        delta(1, 'my answer'),
        end(1, { complete: true, verified: true }),
      ].map((line) =>
        'at' in line ? { ...line, at: new Date(Date.now() + 60_000).toISOString() } : line,
      ) as TranscriptLine[],
    )
    for (const n of [1, 2, 3]) {
      world.server.say('ctx_1', 'user', `old ${n}`)
      world.server.say('ctx_1', 'assistant', `old answer ${n}`)
    }
    const shown = await (await world.run({ kind: 'context', id: 'ctx_1' })).terminal.text()
    expect(shown).to.match(
      /old answer 3[\s\S]*> mine\n\[only on this machine[\s\S]*my answer\n\[only on this machine/,
    )
  })
})

describe('the sessions that can be resumed', () => {
  const world = perTest(() => SessionWorld.open())
  const time = '\\d\\d-\\d\\d \\d\\d:\\d\\d'
  /** Sessions about 1, 2, …, of which the last is the newest. */
  const topic = (number: number): TranscriptLine[] => {
    const at = new Date(Date.UTC(2026, 0, 2, 3, number)).toISOString()
    return [{ type: 'user', turn: 1, at, text: `Topic ${number}.` }]
  }
  const plant = (count: number) =>
    Array.from({ length: count }, (_, index) => basename(world.plant(topic(index + 1)), '.jsonl'))

  it('are named for /resume in a plain session, and the error says how to list them', async () => {
    plant(1)
    const run = await world.run(undefined, { isPlain: true })
    await run.say('/resume', /Missing session\nHint: +Tab after \/resume lists the sessions/)
    await run.say('/resume Topic 1.', '> Topic 1.')
  })

  it('are described by Tab after /resume, the newest at the bottom, and found by all their messages', async () => {
    const ids = plant(3)
    const { terminal } = await world.run()
    terminal.type('/resume \t')
    const row = (number: number) => `s2\\S+ {2}${time} {2}Topic ${number}\\. {2}Topic ${number}\\.`
    await terminal.waitFor(new RegExp(`^${row(1)}\\n${row(2)}\\n${row(3)}$`, 'm'))
    // Tab chooses the newest first, and then older ones.
    terminal.type('\t\t')
    await terminal.waitFor(new RegExp(`^> /resume ${ids[1]}$`, 'm'))
    world.plant([...topic(4), { type: 'delta', turn: 1, text: 'About frigates' }, ...topic(5)])
    terminal.type('\u0015/resume frigate\t')
    await terminal.waitFor(/^> \/resume s2\S+$/m)
    terminal.type('\u0015/resume topic 2\t')
    await terminal.waitFor(/^> \/resume s2\S+$/m)
    terminal.type('\r')
    await terminal.waitFor(/^> Topic 2\.$/m)
  })
})
