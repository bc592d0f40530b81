import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters as stripControls } from 'node:util'
import { expect } from 'chai'
import { listTranscripts } from '../../../src/chat/transcript/list-transcripts.ts'
import { readTranscript } from '../../../src/chat/transcript/read-transcript.ts'
import { TranscriptWriter } from '../../../src/chat/transcript/transcript-writer.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { ChatHandler } from '../../support/handlers/chat.ts'
import { perTest } from '../../support/lifetime.ts'
import { runChatctl, startChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { serveHandler } from '../../support/scripted-server.ts'
import { SteppedClock } from '../../support/stepped-clock.ts'
import { until } from '../../support/until.ts'

describe('--continue', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(() => serveHandler(new ChatHandler()))
  const clock = perTest(
    () => new SteppedClock(),
    () => {},
  )
  const given = (more: NodeJS.ProcessEnv = {}) => ({
    env: { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'some-key', ...more },
    host: { clock },
  })
  const send = (...args: string[]) => runChatctl(sandbox, ['chat', 'send', ...args], given())
  const inTerminal = (...args: string[]) =>
    startChatctl(sandbox, ['chat', ...args], { ...given(), terminal: { columns: 100 } })
  const directory = () => join(sandbox.home, '.local', 'share', 'chatctl', 'sessions')
  const transcripts = () => listTranscripts(directory()).map(({ path }) => path)
  /** Does what another window does that has the last used session open. */
  const openFirst = () => TranscriptWriter.reopen(transcripts()[0] ?? '')
  const messages = (path = '') => readTranscript(path).turns.map(({ user, reply }) => [user, reply])
  const question = '"Hi" is open in another chatctl process. Continue it here, too?'

  it('says what it continues and how old it is, except with --quiet', async () => {
    await send('What is a write-ahead log?\nAnswer briefly.')
    clock.pass(2 * 3_600_000)
    const label = '"What is a write-ahead log?"'
    expect((await send('--continue', 'And?')).stderr).to.equal(`Continuing ${label} (1 turn, 2 h ago)\n`)
    expect((await send('--continue', 'And?')).stderr).to.equal(`Continuing ${label} (2 turns, 1 s ago)\n`)
    expect(await send('--continue', 'And?', '-q')).to.include({ exitCode: 0, stderr: '' })
    clock.pass(5 * 60_000)
    const dry = await send('--continue', 'And?', '--dry-run')
    expect(dry).to.include({ exitCode: 0, stderr: `Would continue ${label} (4 turns, 5 min ago)\n` })
    const id = readTranscript(transcripts()[0] ?? '').id
    await runChatctl(sandbox, ['chat', 'rename', id, 'trip to Rome'])
    clock.pass(72 * 3_600_000)
    const renamed = 'Continuing "trip to Rome" (4 turns, 3 days ago)\n'
    expect((await send('--continue', 'And?')).stderr).to.equal(renamed)
  })

  it('names a conversation of the service without a transcript by its ID', async () => {
    await send('Hi', '--no-save')
    clock.pass(3_600_000)
    expect((await send('--continue', 'And?')).stderr).to.equal('Continuing conversation ctx_1 (1 h ago)\n')
  })

  it('continues what this profile used last, although another profile was used later', async () => {
    await send('Stored by the service')
    clock.pass(1000)
    await send('Stored here', '--system', 'Be brief')
    clock.pass(1000)
    await runChatctl(sandbox, ['chat', 'send', 'By another'], { ...given(), env: {} })
    expect((await send('--continue', 'And?')).stderr).to.match(/^Continuing "Stored here"/)
  })

  it('uses the model of CHATCTL_MODEL as that of the flag, also in a conversation on this machine', async () => {
    await send('Hi', '--system', 'Be brief', '-m', 'small')
    const modelOf = async (env: NodeJS.ProcessEnv, ...flags: string[]) => {
      const words = ['chat', 'send', '-c', 'And?', '--dry-run', '--json', ...flags]
      return JSON.parse((await runChatctl(sandbox, words, given(env))).stdout).body.model
    }
    expect(await modelOf({})).to.equal('small')
    expect(await modelOf({ CHATCTL_MODEL: 'large' })).to.equal('large')
    expect(await modelOf({ CHATCTL_MODEL: 'large' }, '-m', 'other')).to.equal('other')
  })

  describe('after chat delete', () => {
    const deleteNewest = async () => {
      const id = readTranscript(transcripts()[0] ?? '').id
      expect(await runChatctl(sandbox, ['chat', 'delete', id, '--yes'], given())).to.include({ exitCode: 0 })
      clock.pass(1000)
    }

    const moveHere = () => {
      const open = openFirst()
      open.append({ type: 'options', at: '2026-01-02T03:04:05Z', mode: 'completions' })
      open.close()
    }
    for (const [what, change] of [
      ['what was deleted', () => {}],
      ['what was deleted after it moved to this machine', moveHere],
      ['what was deleted and continued with --no-save', () => send('--continue', 'And?', '--no-save')],
    ] as const)
      it(`does not continue ${what}, nor does chat show --last show it`, async () => {
        await send('Hi')
        await change()
        await deleteNewest()
        const { length } = server.requests
        expectFailure(await send('--continue', 'Again'), 2, 'no conversation to continue')
        expectFailure(await runChatctl(sandbox, ['chat', 'show', '--last'], given()), 6, 'no transcript')
        expect(server.requests).to.have.lengthOf(length)
      })

    it('does not continue it with another profile of the service either', async () => {
      await runChatctl(sandbox, ['config', 'set', 'base_url', server.url, '--profile', 'team'], given())
      await send('Hi')
      await send('--profile', 'team', '--context', 'ctx_1', 'And?', '--no-save')
      await deleteNewest()
      expectFailure(await send('--profile', 'team', '--continue', 'Again'), 2, 'no conversation to continue')
    })

    it('exits with code 1 if the conversation stays the last one, because its file is not writable', async () => {
      await send('Hi')
      const id = readTranscript(transcripts()[0] ?? '').id
      await send('--continue', 'And?', '--no-save')
      const file = join(sandbox.home, '.local', 'state', 'chatctl', 'state', 'last-contexts.json')
      mkdirSync(`${file}.lock`)
      const failed = await runChatctl(sandbox, ['chat', 'delete', id, '--yes'], given())
      expect(failed).to.include({ exitCode: 1 })
      expect(failed.stdout).to.match(new RegExp(`^${id}\t`))
      expect(failed.stderr)
        .to.include('Deleted 1 session')
        .and.include('Error: Deleted from this machine, but still the conversation to continue: ctx_1')
        .and.include(`Delete ${file}`)
      expect(transcripts()).to.deep.equal([])
    })

    it('continues the session before it', async () => {
      await send('First')
      clock.pass(1000)
      await send('Second')
      await deleteNewest()
      expect((await send('--continue', 'And?')).stderr).to.match(/^Continuing "First"/)
      expect(server.sends.at(-1)).to.include({ context_id: 'ctx_1' })
    })

    it('continues a later conversation of which nothing was deleted', async () => {
      await send('Hi')
      clock.pass(1000)
      await send('Later', '--no-save')
      await deleteNewest()
      expect((await send('--continue', 'And?')).stderr).to.match(/^Continuing conversation ctx_2/)
    })
  })

  for (const [what, flags] of [
    ['a script', []],
    ['a script that records nothing', ['--no-save']],
  ] as const)
    it(`attaches ${what} to no conversation that is open elsewhere, and sends nothing`, async () => {
      await send('Hi')
      const other = openFirst()
      const refused = await send('--continue', 'And?', ...flags)
      expectFailure(refused, 3, question, '--context ctx_1, or omit --continue')
      expect(server.sends).to.have.lengthOf(1)
      const found = (await send('--continue', 'And?', '--dry-run', ...flags)).stderr
      expect(found).to.equal('Would continue "Hi" (1 turn, 1 s ago, open in another chatctl process)\n')
      other.close()
      expect((await send('--continue', 'And?', ...flags)).exitCode).to.equal(0)
    })

  it('exits with code 3 also for an open conversation that only this machine stores', async () => {
    await send('Hi', '--system', 'Be brief')
    const other = openFirst()
    expectFailure(await send('--continue', 'And?'), 3, question, 'End the other process, or omit --continue')
    other.close()
  })

  it('notices an open window that has a separate transcript of the conversation', async () => {
    await send('Hi')
    const first = openFirst()
    clock.pass(1000)
    await send('--context', 'ctx_1', 'Second window')
    const second = openFirst()
    first.close()
    clock.pass(1000)
    await send('--context', 'ctx_1', 'Third window')
    expectFailure(await send('--continue', 'And?'), 3, 'is open in another chatctl process')
    second.close()
    expect((await send('--continue', 'And?')).exitCode).to.equal(0)
  })

  it('attaches no script to a session in a terminal, until it ends', async () => {
    const session = inTerminal('--', 'Hi')
    await until(() => /total/.test(session.written().stdout))
    expectFailure(await send('--continue', 'And?'), 3, question)
    // What a terminal is, and Ctrl-D.
    session.stdin.write('\u001b[?62c\u0004')
    expect((await session.ended).exitCode).to.equal(0)
    expect((await send('--continue', 'And?')).exitCode).to.equal(0)
    expect(transcripts()).to.have.lengthOf(1)
  })

  it('asks in lines that a narrow terminal does not break, and sends nothing after a no', async () => {
    await send('Hi')
    const other = openFirst()
    for (const args of [
      ['send', '--continue', 'And?'],
      ['--continue', 'And then?'],
    ]) {
      const terminal = { columns: 40 }
      const running = startChatctl(sandbox, ['chat', ...args], { ...given(), terminal })
      const asked = /another chatctl\r?\nprocess. Continue it here, too\? \(y\/N\)/
      await until(() => asked.test(stripControls(running.written().stdout)))
      running.stdin.write('n\r')
      const { exitCode, stdout } = await running.ended
      expect(exitCode).to.equal(3)
      expect(stdout).to.contain('Nothing was sent').and.not.to.contain('Continuing')
    }
    expectFailure(await send('--continue', 'And?', '--no-input'), 3, '--no-input is set')
    expect(server.sends).to.have.lengthOf(1)
    other.close()
  })

  it('writes a separate transcript after a yes, while both windows receive their replies', async () => {
    await send('Hi')
    const [path = ''] = transcripts()
    const [toFirst, toSecond] = [
      server.answerNext({ text: 'To the first.', held: true }),
      server.answerNext({ text: 'To the second.', held: true }),
    ]
    const first = send('--continue', 'From the first')
    await toFirst.begun
    const second = inTerminal('send', '--continue', 'From the second')
    await until(() => stripControls(second.written().stdout).includes('Continue it here, too?'))
    second.stdin.write('y\r')
    await toSecond.begun
    toSecond.release()
    toFirst.release()
    expect((await second.ended).stdout).to.contain('Continuing "Hi" (2 turns, 1 s ago)')
    expect((await first).exitCode).to.equal(0)
    const own = transcripts().find((one) => one !== path)
    expect(messages(path).slice(1)).to.deep.equal([['From the first', 'To the first.']])
    expect(messages(own)).to.deep.equal([['From the second', 'To the second.']])
    expect(server.sends.map(({ context_id }) => context_id)).to.deep.equal([undefined, 'ctx_1', 'ctx_1'])
  })

  it('keeps what it has chosen for itself while it waits for its message', async () => {
    await send('Hi')
    const waiting = startChatctl(sandbox, ['chat', 'send', '--continue', '-'], given())
    await until(() => waiting.written().stderr.includes('Continuing'))
    expectFailure(await send('--continue', 'Too late'), 3, question)
    waiting.stdin.end('First')
    expect((await waiting.ended).exitCode).to.equal(0)
    const [path = ''] = transcripts()
    expect(messages(path)).to.deep.equal([
      ['Hi', 'You said: Hi'],
      ['First', 'You said: First'],
    ])
    expect(readFileSync(path, 'utf8')).not.to.contain('Too late')
  })

  it('releases what it has chosen if the command fails', async () => {
    await send('Hi')
    expectFailure(await send('--continue', '-f', 'missing.txt', 'And?'), 2, 'missing.txt')
    expect((await send('--continue', 'And?')).exitCode).to.equal(0)
    expect(transcripts()).to.have.lengthOf(1)
  })

  it('numbers the turns of messages that are sent at the same time one after another', async () => {
    await send('Hi')
    await Promise.all(['a', 'b', 'c'].map((text) => send('--context', 'ctx_1', text)))
    const numbers = transcripts().map((path) => readTranscript(path).turns.map(({ number }) => number))
    for (const each of numbers) expect(each).to.deep.equal(each.map((_, index) => index + 1))
  })
})

describe('chat --fork', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(() => serveHandler(new ChatHandler()))
  const env = () => ({ CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'some-key' })
  const directory = () => join(sandbox.home, '.local', 'share', 'chatctl', 'sessions')
  const run = (...args: string[]) => runChatctl(sandbox, ['chat', ...args], { env: env() })

  /** A session in a terminal that replies to one message and ends. @returns what it showed */
  async function session(...args: string[]): Promise<string> {
    const running = startChatctl(sandbox, ['chat', ...args], { env: env(), terminal: { columns: 100 } })
    await until(() => /total/.test(running.written().stdout))
    running.stdin.write('\u001b[?62c\u0004')
    const { exitCode, stdout } = await running.ended
    expect(exitCode, stdout).to.equal(0)
    return stripControls(stdout)
  }

  it('continues in a copy with --resume and with --continue, also while the original is open', async () => {
    await run('send', 'one')
    await run('send', '--continue', 'two')
    const [{ id, path } = { id: '', path: '' }] = listTranscripts(directory())
    const open = TranscriptWriter.reopen(path)
    const before = readFileSync(path)
    const shown = await session('--continue', '--fork', '1', '--', 'From the first')
    expect(shown).to.match(/Last conversation: "one" \(2 turns, \d+ s ago\)/)
    await session('--resume', id, '--fork', '--', 'From the second')
    expect(readFileSync(path).equals(before)).to.equal(true)
    open.close()
    const sent = server.completions.map(({ messages = [] }) => messages.filter(({ role }) => role === 'user'))
    expect(sent.map((each) => each.map(({ content }) => content))).to.deep.equal([
      ['one', 'From the first'],
      ['one', 'two', 'From the second'],
    ])
    const [{ id: forked = '' } = {}] = listTranscripts(directory())
    const { stdout } = await run('show', forked, '-o', 'json')
    expect(JSON.parse(stdout)).to.include({ forked_from: id, mode: 'completions' })
    expect(JSON.parse(stdout).name).to.match(/^one \Wfork\W$/)
  })

  it('exits with code 2 without a session, and for a number that is out of range', async () => {
    await run('send', 'one')
    const terminal = { columns: 100 }
    for (const [args, message] of [
      [['--fork'], '--fork requires --resume or --continue'],
      [['--context', 'ctx_1', '--fork', '1'], '--fork requires --resume or --continue'],
      [['--continue', '--fork', '2'], '"2" is not the number of a message from 1 to 1'],
      [['--continue', '--fork', 'x'], '"x" is not the number of a message from 1 to 1'],
    ] as const) {
      const { exitCode, stdout } = await startChatctl(sandbox, ['chat', ...args], { env: env(), terminal })
        .ended
      expect(exitCode, args.join(' ')).to.equal(2)
      expect(stripControls(stdout)).to.contain(message)
    }
    expect(listTranscripts(directory())).to.have.lengthOf(1)
  })
})
