import { existsSync, readFileSync, statSync, utimesSync } from 'node:fs'
import { expect } from 'chai'
import { listTranscripts } from '../../../src/chat/transcript/list-transcripts.ts'
import { readTranscript } from '../../../src/chat/transcript/read-transcript.ts'
import { TranscriptWriter } from '../../../src/chat/transcript/transcript-writer.ts'
import { perTest } from '../../support/lifetime.ts'
import { failing } from '../../support/scripted-server.ts'
import { type SessionRun, SessionWorld } from './session-run.ts'

const at = '2026-01-02T03:04:05.000Z'

describe('a fork of a session', () => {
  const world = perTest(() => SessionWorld.open())

  const ask = (run: SessionRun, text: string) => run.say(text, new RegExp(`You said: ${text}[\\s\\S]*total`))
  const beginFork = (path: string, through?: string, given = {}) =>
    world.run({ kind: 'transcript', path }, { fork: through ?? true, ...given })

  /** A session with these messages. @returns its transcript, whose modification time is past */
  async function talk(...texts: string[]): Promise<string> {
    const run = await world.run()
    for (const text of texts) await ask(run, text)
    await run.leave()
    const [{ path = '' } = {}] = listTranscripts(world.directory)
    utimesSync(path, 1, 1)
    return path
  }
  const stateOf = (path: string) => ({ text: readFileSync(path, 'utf8'), time: statSync(path).mtimeMs })
  const lastSent = () => world.server.completions.at(-1)?.messages?.map(({ content }) => content)
  const newest = () => world.transcript()
  const messagesOf = (path: string) => readTranscript(path).turns.map(({ user }) => user)

  it('continues with the messages up to a number in a new transcript, and leaves the original as it was', async () => {
    const path = await talk('one', 'two', 'three')
    const run = await world.resume()
    utimesSync(path, 1, 1)
    const before = stateOf(path)
    await run.say(
      '/fork 2',
      /Fork of s\S+, with your messages up to number 2\.\n\[this machine stores the fork/,
    )
    await ask(run, 'other')
    await run.leave()
    expect(lastSent()).to.deep.equal(['one', 'You said: one', 'two', 'You said: two', 'other'])
    expect(stateOf(path)).to.deep.equal(before)
    expect(newest().turns.map(({ number, user }) => [number, user])).to.deep.equal([
      [1, 'one'],
      [2, 'two'],
      [3, 'other'],
    ])
    expect(newest()).to.include({
      forkedFrom: readTranscript(path).id,
      mode: 'completions',
    })
    expect(newest().name).to.match(/^one \Wfork\W$/)
    expect(newest().contextId).to.equal(undefined)
  })

  it('contains all messages by default, and shows where it comes from', async () => {
    const path = await talk('one', 'two')
    const { id } = readTranscript(path)
    const run = await beginFork(path)
    const shown = await run.say('/info', /^transcript\b/m)
    expect(shown).to.contain(`Fork of ${id}, with all messages.`).and.to.contain('> two')
    expect(shown)
      .to.match(new RegExp(`^fork of +${id}$`, 'm'))
      .and.to.match(/^turns +2$/m)
    expect(await run.leave()).to.match(/^2 turns: one .fork.\r?\nResume with/m)
    const again = await world.resume()
    await ask(again, 'three')
    expect(lastSent()).to.deep.equal(['one', 'You said: one', 'two', 'You said: two', 'three'])
  })

  it('is made while another process has the original open', async () => {
    const path = await talk('one', 'two')
    const open = TranscriptWriter.reopen(path)
    const before = stateOf(path)
    const run = await beginFork(path, '1')
    await ask(run, 'other')
    expect(stateOf(path)).to.deep.equal(before)
    expect(messagesOf(path)).to.deep.equal(['one', 'two'])
    open.close()
  })

  it('has the numbers that /history shows, also after /retry', async () => {
    const run = await world.run()
    await ask(run, 'one')
    await ask(run, 'two')
    world.server.answerNext({ text: 'Again.' })
    await run.say('/retry', /Again\.[\s\S]*total/)
    const shown = await run.say('/history', /Last 4 messages[\s\S]*Again\.\n\n>$/)
    expect(shown.split('Last 4 messages')[1])
      .to.match(/^1> one$/m)
      .and.to.match(/^3> two$/m)
    await run.say('/fork 2', 'up to number 2')
    await ask(run, 'other')
    expect(lastSent()).to.deep.equal(['one', 'You said: one', 'two', 'You said: two', 'other'])
  })

  it('does not number messages that only the service has', async () => {
    world.server.say('ctx_1', 'user', 'elsewhere')
    world.server.say('ctx_1', 'assistant', 'yes')
    const run = await world.run({ kind: 'context', id: 'ctx_1' })
    await ask(run, 'here')
    const shown = await run.say('/history', /Last 4 messages[\s\S]*1> here/)
    expect(shown.split('Last 4')[1]).to.match(/^> elsewhere$/m)
  })

  for (const wanted of ['0', '4', 'x', '1.5', '-1']) {
    it(`cannot end at ${wanted}, and the error names the range`, async () => {
      const path = await talk('one', 'two', 'three')
      const run = await world.resume()
      await run.say(`/fork ${wanted}`, `"${wanted}" is not the number of a message from 1 to 3`)
      await run.leave()
      const failure = await beginFork(path, wanted).catch((error) => error)
      expect(failure).to.include({ kind: 'usage' })
      expect(listTranscripts(world.directory)).to.have.lengthOf(1)
    })
  }

  it('needs a message', async () => {
    const run = await world.run()
    await run.say('/fork', 'There are no messages to fork')
  })

  it('continues in memory if nothing is recorded', async () => {
    const run = await world.run({ kind: 'new' }, { isRecorded: false, inputHistoryPath: undefined })
    await ask(run, 'one')
    await ask(run, 'two')
    await run.say('/history', /Last 4[\s\S]*1> one[\s\S]*2> two/)
    await run.say('/fork 1', 'with your messages up to number 1')
    await ask(run, 'other')
    expect(lastSent()).to.deep.equal(['one', 'You said: one', 'other'])
    expect(existsSync(world.directory)).to.equal(false)
  })

  it('of a transcript is not recorded either with --no-save', async () => {
    const path = await talk('one')
    const run = await beginFork(path, undefined, { isRecorded: false })
    await ask(run, 'other')
    expect(lastSent()).to.deep.equal(['one', 'You said: one', 'other'])
    expect(listTranscripts(world.directory)).to.have.lengthOf(1)
  })

  it('keeps the parameters and the name of the original', async () => {
    const run = await world.run({ kind: 'new' }, { system: 'Be brief' })
    await ask(run, 'one')
    await run.say('/name trip', 'now named')
    await run.say('/fork', 'with all messages')
    await ask(run, 'two')
    await run.say('/fork', /Fork of s\S+, with all messages[\s\S]+Fork of s\S+, with all messages/)
    await ask(run, 'three')
    expect(lastSent()?.slice(0, 4)).to.deep.equal(['Be brief', 'one', 'You said: one', 'two'])
    expect(newest()).to.include({ system: 'Be brief' })
    expect(newest().name).to.match(/^trip \Wfork\W$/)
    expect(await run.terminal.text()).not.to.contain('[this machine stores the fork')
    // Nothing of this fork is on the service.
    await run.say('/system off', 'because only it has all messages')
  })

  it('stays on this machine, although its original could return to the service', async () => {
    const run = await world.run()
    await ask(run, 'one')
    await run.say('/system Be brief', 'from now on, this machine stores')
    await run.say('/fork', 'with all messages')
    await run.say('/system off', 'because only it has all messages')
    await run.leave()
    const again = await world.resume()
    await again.say('/system x', 'system: x')
    await again.say('/system off', 'because only it has all messages')
  })

  describe('of a conversation whose beginning only the service has', () => {
    const begin = async () => {
      for (const text of ['old', 'older']) {
        world.server.say('ctx_1', 'user', text)
        world.server.say('ctx_1', 'assistant', `Re: ${text}`)
      }
      const path = world.plant([
        { type: 'options', at, mode: 'context', context_id: 'ctx_1' },
        { type: 'conversation', at, messages: [], lacks_beginning: true },
        { type: 'user', turn: 1, at, text: 'one' },
        { type: 'delta', turn: 1, text: 'You said: one' },
        { type: 'end', turn: 1, at, complete: true, verified: true },
        { type: 'user', turn: 2, at, text: 'two' },
        { type: 'delta', turn: 2, text: 'You said: two' },
        { type: 'end', turn: 2, at, complete: true, verified: true },
      ])
      for (const text of ['one', 'two']) {
        world.server.say('ctx_1', 'user', text)
        world.server.say('ctx_1', 'assistant', `You said: ${text}`)
      }
      return path
    }
    const beginning = ['old', 'Re: old', 'older', 'Re: older']

    it('fetches it', async () => {
      const run = await beginFork(await begin(), '1')
      await ask(run, 'other')
      expect(lastSent()).to.deep.equal([...beginning, 'one', 'You said: one', 'other'])
      await run.leave()
      await ask(await world.resume(), 'more')
      expect(lastSent()?.slice(0, 4)).to.deep.equal(beginning)
    })

    it('says what is missing if it cannot be fetched', async () => {
      const path = await begin()
      world.server.faults.set('/api/chat/history', [failing(503, 'busy', 'Not now')])
      const run = await beginFork(path)
      expect(await run.terminal.text()).to.contain('[only the service has the messages before the first one,')
      await ask(run, 'other')
      expect(lastSent()).to.deep.equal(['one', 'You said: one', 'two', 'You said: two', 'other'])
    })

    it('says the same if the history of the service has other messages', async () => {
      const path = await begin()
      world.server.forget('ctx_1', 4)
      const run = await beginFork(path)
      expect(await run.terminal.text()).to.contain('[only the service has the messages before the first one,')
      await ask(run, 'other')
      expect(lastSent()?.[0]).to.equal('one')
    })

    it('fetches it also before the first message of a session without a transcript', async () => {
      for (let number = 1; number <= 60; number++) {
        world.server.say('ctx_2', 'user', `question ${number}`)
        world.server.say('ctx_2', 'assistant', `answer ${number}`)
      }
      const run = await world.run({ kind: 'context', id: 'ctx_2' })
      await run.say('/fork', 'with all messages')
      await ask(run, 'other')
      expect(lastSent()).to.have.lengthOf(121).and.to.include('question 1')
    })

    it('is fetched whole if this machine has no transcript', async () => {
      await begin()
      const run = await world.run({ kind: 'context', id: 'ctx_1' }, { fork: '2' })
      await ask(run, 'other')
      expect(lastSent()).to.deep.equal([...beginning, 'other'])
      expect(newest()).to.include({ forkedFrom: 'ctx_1' })
      expect(newest().turns.map(({ user }) => user)).to.deep.equal(['old', 'older', 'other'])
    })
  })

  it('offers the last message if it got no reply, and the rest of an incomplete reply', async () => {
    const path = world.plant([
      { type: 'user', turn: 1, at, text: 'one' },
      { type: 'start', turn: 1, at, context_id: 'ctx_1' },
      { type: 'delta', turn: 1, text: 'Half a' },
      { type: 'user', turn: 2, at, text: 'two' },
      { type: 'end', turn: 2, at, complete: false, verified: false, error: { code: 'x', message: 'No GPU' } },
    ])
    const first = await beginFork(path, '1')
    world.server.answerNext({ text: ' reply.' })
    await first.say('/continue', /Continue exactly[\s\S]*reply\.[\s\S]*total/)
    const second = await beginFork(path)
    expect(await second.terminal.text()).to.contain('> two\n[failed: No GPU; /retry sends it again]')
    await second.say('/retry', 'You said: two')
    expect(lastSent()).to.deep.equal(['one', 'Half a', 'two'])
  })

  it('says with its first message that the service offers no completions', async () => {
    const path = await talk('one')
    const run = await beginFork(path)
    world.server.failNext(failing(404, 'not_found', 'There is no such endpoint'))
    const shown = await run.say('other', /Error: [\s\S]*Press Enter to send it again/)
    expect(shown).to.contain('There is no such endpoint')
    expect(world.server.sends).to.have.lengthOf(1)
  })

  it('is refused for a session of another service', async () => {
    const writer = TranscriptWriter.create(world.directory, { profile: 'p', baseUrl: null }, {
      now: () => 0,
    } as never)
    writer.append({ type: 'user', turn: 1, at, text: 'secret' })
    writer.close()
    const failure = await beginFork(writer.path).catch((error) => error)
    expect(failure.message).to.contain('belongs to another service or profile')
  })
})
