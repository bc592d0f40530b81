import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { readTranscript } from '../../../src/chat/transcript/read-transcript.ts'
import { renderTranscript, replayTurn } from '../../../src/chat/transcript/render-transcript.ts'
import type { Transcript } from '../../../src/chat/transcript/transcript.ts'
import type { TranscriptLine } from '../../../src/chat/transcript/transcript-line.ts'
import { TranscriptWriter } from '../../../src/chat/transcript/transcript-writer.ts'
import { parseJson } from '../../../src/contract/notation/exact-json.ts'
import type { Usage } from '../../../src/contract/resources/completion.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { thrownFailure } from '../../support/thrown-failure.ts'
import { withDirectory } from './temporary-directory.ts'

const at = '2026-01-02T03:04:05.000Z'
const about = { profile: 'work', baseUrl: 'https://chat.example/' }
const end = { type: 'end', at, complete: true, verified: true } as const

function write(directory: string, lines: readonly TranscriptLine[]): string {
  const writer = TranscriptWriter.create(directory, about, systemClock)
  for (const line of lines) writer.append(line)
  writer.sync()
  writer.close()
  return writer.path
}

const said = ({ conversation }: Transcript) => conversation.map(({ role, content }) => ({ role, content }))

function answered(turn: number, text: string, answer: string): TranscriptLine[] {
  return [
    { type: 'user', turn, at, text },
    { type: 'start', turn, at, context_id: 'c1', id: `m${turn}`, model: 'small' },
    { type: 'delta', turn, text: answer },
    { ...end, turn },
  ]
}

describe('a transcript', () => {
  it('creates no file if no message was sent', () => {
    withDirectory((directory) => {
      const sessions = join(directory, 'sessions')
      const path = write(sessions, [
        { type: 'name', name: 'idle' },
        { type: 'options', at, mode: 'context', model: 'm' },
      ])
      expect(existsSync(path)).to.equal(false)
      expect(existsSync(sessions)).to.equal(false)
    })
  })

  it('is private, named after its ID, and leaves no lock file', () => {
    withDirectory((directory) => {
      const sessions = join(directory, 'a', 'sessions')
      const path = write(sessions, answered(1, 'Hi', 'Hello'))
      expect(readdirSync(sessions)).to.deep.equal([`${readTranscript(path).id}.jsonl`])
      expect(readTranscript(path).id).to.match(/^s\d{8}-\d{6}-[a-z0-9]{4}$/)
      expect(statSync(path).mode & 0o777).to.equal(0o600)
      expect(statSync(sessions).mode & 0o777).to.equal(0o700)
    })
  })

  it('keeps the digits of the numbers in a usage', () => {
    withDirectory((directory) => {
      const usage = '{"prompt_tokens":9007199254740993,"completion_tokens":2.0,"total_tokens":1e400,"x":-0}'
      const line: TranscriptLine = { type: 'usage', turn: 1, usage: parseJson(usage) as Usage }
      const [asked, ...rest] = answered(1, 'Hi', 'Hello')
      const path = write(directory, [...(asked ? [asked] : []), line, ...rest])
      expect(readFileSync(path, 'utf8')).to.include(usage)
      const [form] = renderTranscript(readTranscript(path), 'json', (id) => id)
      expect(form?.replace(/\s+/g, '')).to.include(`"usage":${usage}`)
    })
  })

  const reasoned: TranscriptLine[] = [
    { type: 'user', turn: 1, at, text: 'Hi' },
    { type: 'start', turn: 1, at, context_id: 'c1' },
    { type: 'reasoning', turn: 1, text: 'They greet me.\n```' },
    { type: 'reasoning', turn: 1, text: '\nSo.' },
    { type: 'delta', turn: 1, text: 'Hello' },
    { ...end, turn: 1 },
  ]

  it('keeps reasoning apart from the reply and the conversation', () => {
    withDirectory((directory) => {
      const transcript = readTranscript(write(directory, reasoned))
      const [turn] = transcript.turns
      expect(turn).to.include({ reasoning: 'They greet me.\n```\nSo.', reply: 'Hello' })
      expect(said(transcript)).to.deep.equal([
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: 'Hello' },
      ])
      if (turn)
        expect([...replayTurn(turn)].slice(1, -1)).to.deep.equal([
          { v: 1, type: 'reasoning', text: 'They greet me.\n```' },
          { v: 1, type: 'reasoning', text: '\nSo.' },
          { v: 1, type: 'delta', text: 'Hello' },
        ])
    })
  })

  it('shows reasoning in JSON, and in text and md on request', () => {
    withDirectory((directory) => {
      const transcript = readTranscript(write(directory, reasoned))
      const rendered = (...[format, hasReasoning]: ['text' | 'markdown' | 'json' | 'jsonl', boolean?]) =>
        [...renderTranscript(transcript, format, (id) => id, hasReasoning)].join('')
      expect(rendered('text')).not.to.include('greet')
      expect(rendered('text', true)).to.include(
        'You: Hi\n\nReasoning: They greet me.\n```\nSo.\n\nReply: Hello\n',
      )
      expect(rendered('markdown')).not.to.include('greet')
      expect(rendered('markdown', true)).to.include(
        '> Hi\n\n**Reasoning**\n\n> They greet me.\n> ```\n> So.\n\n**Reply**\n\nHello\n',
      )
      expect(JSON.parse(rendered('json')).turns[0]).to.include({ reasoning: 'They greet me.\n```\nSo.' })
      expect(rendered('jsonl')).to.include('{"v":1,"type":"reasoning","text":"\\nSo."}\n')
    })
  })

  it('restores what was written', () => {
    withDirectory((directory) => {
      const path = write(directory, [
        { type: 'name', name: 'trip' },
        { type: 'options', at, mode: 'context', model: 'small' },
        { type: 'user', turn: 1, at, text: 'Hi\nthere' },
        { type: 'start', turn: 1, at, context_id: 'c1' },
        { type: 'delta', turn: 1, text: 'Hel' },
        { type: 'delta', turn: 1, text: 'lo \ud83d' },
        { type: 'usage', turn: 1, usage: { total_tokens: 3 } },
        {
          ...end,
          turn: 1,
          at: '2026-01-02T03:04:06.000Z',
          finish_reason: 'stop',
          id: 'm1',
          first_ms: 12,
          total_ms: 40,
        },
      ])
      const transcript = readTranscript(path)
      expect(transcript).to.deep.include({
        ...about,
        updatedAt: '2026-01-02T03:04:06.000Z',
        name: 'trip',
        contextId: 'c1',
        mode: 'context',
        model: 'small',
      })
      expect(said(transcript)).to.deep.equal([
        { role: 'user', content: 'Hi\nthere' },
        { role: 'assistant', content: 'Hello \ud83d' },
      ])
      // Without the undefined fields.
      expect(JSON.parse(JSON.stringify(transcript.turns))).to.deep.equal([
        {
          number: 1,
          at,
          user: 'Hi\nthere',
          reply: 'Hello \ud83d',
          repliedAt: at,
          status: 'complete',
          delivery: 'stored',
          contextId: 'c1',
          mode: 'context',
          id: 'm1',
          usage: { total_tokens: 3 },
          finishReason: 'stop',
          firstMs: 12,
          totalMs: 40,
          events: [
            { v: 1, type: 'start', context_id: 'c1' },
            { v: 1, type: 'delta', text: 'Hel' },
            { v: 1, type: 'delta', text: 'lo \ud83d' },
            { v: 1, type: 'usage', usage: { total_tokens: 3 } },
          ],
        },
      ])
    })
  })

  const endings: [string, Partial<TranscriptLine>, object][] = [
    ['complete', {}, { status: 'complete' }],
    ['unverified', { verified: false }, { status: 'unverified' }],
    [
      'truncated',
      { complete: false, verified: false, reason: 'connection lost' },
      { status: 'truncated', reason: 'connection lost' },
    ],
    ['interrupted', { complete: false, verified: false, interrupted: true }, { status: 'interrupted' }],
    [
      'failed',
      { complete: false, verified: false, error: { code: 'overloaded', message: 'Busy' } },
      { status: 'failed', reason: 'Busy' },
    ],
  ]
  for (const [what, ending, expected] of endings) {
    it(`knows a turn that is ${what}`, () => {
      withDirectory((directory) => {
        const path = write(directory, [
          { type: 'user', turn: 1, at, text: 'Hi' },
          { type: 'delta', turn: 1, text: 'Hel' },
          { ...end, turn: 1, ...ending } as TranscriptLine,
        ])
        expect(readTranscript(path).turns[0]).to.include({ reply: 'Hel', ...expected })
      })
    })
  }

  it('treats a turn without an end as ended by a crash', () => {
    withDirectory((directory) => {
      const path = write(directory, [{ type: 'user', turn: 1, at, text: 'Hi' }])
      expect(readTranscript(path).turns[0]).to.include({ status: 'lost', reason: 'ended by a crash' })
      expect(readTranscript(path).conversation).to.deep.equal([])
    })
  })

  for (const [came, events] of [
    ['Hel', ['Hel', 'lo']],
    ['Hex', ['Hello']],
    ['', ['Hello']],
  ] as const) {
    it(`uses the reply that the service recorded if the transcript has '${came}'`, () => {
      withDirectory((directory) => {
        const path = write(directory, [
          { type: 'user', turn: 1, at, text: 'Hi' },
          { type: 'delta', turn: 1, text: came },
          { ...end, turn: 1, complete: false, verified: false, reason: 'cut' },
          { type: 'recovered', turn: 1, at, text: 'Hello' },
        ])
        const transcript = readTranscript(path)
        expect(transcript.turns[0]).to.include({ reply: 'Hello', status: 'unverified' })
        expect(transcript.turns[0]?.reason).to.equal(undefined)
        const texts = transcript.turns
          .flatMap((turn) => [...replayTurn(turn)])
          .flatMap((event) => (event.type === 'delta' ? [event.text] : []))
        expect(texts.filter((text) => text !== '')).to.deep.equal(events)
      })
    })
  }

  it('has only the options that are in force at its end', () => {
    withDirectory((directory) => {
      const path = write(directory, [
        ...answered(1, 'a', 'b'),
        {
          type: 'options',
          at,
          mode: 'completions',
          model: 'm',
          system: 's',
          temperature: 0.5,
          max_tokens: 9,
        },
        { type: 'options', at, mode: 'completions', model: 'n', temperature: 0 },
      ])
      const transcript = readTranscript(path)
      expect(transcript).to.include({ mode: 'completions', model: 'n', temperature: 0 })
      expect(transcript).to.include({ system: undefined, maxTokens: undefined, contextId: undefined })
    })
  })

  it('knows the conversation that the next completion continues', () => {
    withDirectory((directory) => {
      const said = (path: string) => readTranscript(path).conversation.map(({ content }) => content)
      const told: TranscriptLine = { type: 'conversation', at, messages: [{ role: 'system', content: 's' }] }
      expect(said(write(directory, [...answered(1, 'a', 'b'), ...answered(2, 'c', 'd')]))).to.deep.equal([
        'a',
        'b',
        'c',
        'd',
      ])
      const forked = [...answered(1, 'a', 'b'), told, ...answered(2, 'c', 'd')]
      expect(said(write(directory, forked))).to.deep.equal(['s', 'c', 'd'])
      const inAnother: TranscriptLine = { type: 'options', at, mode: 'context', context_id: 'c2' }
      expect(said(write(directory, [...answered(1, 'a', 'b'), inAnother]))).to.deep.equal([])
      const inTheSame: TranscriptLine = { type: 'options', at, mode: 'context', context_id: 'c1', model: 'x' }
      expect(said(write(directory, [...answered(1, 'a', 'b'), inTheSame]))).to.deep.equal(['a', 'b'])
    })
  })

  it('skips lines of unknown types, and unknown fields', () => {
    withDirectory((directory) => {
      const path = write(directory, answered(1, 'a', 'b'))
      const text = readFileSync(path, 'utf8').replace('"text":"b"', '"text":"b","x":1')
      writeFileSync(path, `${text}{"type":"later","turn":1}\n[1]\nnull\n{"type":"delta","turn":1}\n`)
      expect(readTranscript(path).turns).to.have.lengthOf(1)
      expect(readTranscript(path).turns[0]).to.include({ reply: 'b', status: 'complete' })
    })
  })

  it('has one writer at a time', () => {
    withDirectory((directory) => {
      const first = TranscriptWriter.create(directory, about, systemClock)
      first.append({ type: 'user', turn: 1, at, text: 'Hi' })
      const refused = thrownFailure(() => TranscriptWriter.reopen(first.path))
      expect(refused).to.include({ kind: 'conflict' })
      expect(refused.message).to.include(first.id)
      // The rejected writer did not remove the lock.
      expect(thrownFailure(() => TranscriptWriter.reopen(first.path)).kind).to.equal('conflict')
      first.append({ type: 'delta', turn: 1, text: 'still here' })
      first.close()
      first.close()
      const second = TranscriptWriter.reopen(first.path)
      second.append({ type: 'delta', turn: 1, text: '!' })
      second.close()
      expect(readTranscript(first.path).turns[0]?.reply).to.equal('still here!')
      expect(readdirSync(directory)).to.have.lengthOf(1)
    })
  })

  it('names the directory that cannot be written', function () {
    if (process.getuid?.() === 0) this.skip()
    withDirectory((directory) => {
      chmodSync(directory, 0o500)
      const failure = thrownFailure(() => write(directory, answered(1, 'a', 'b')))
      expect(failure).to.include({ kind: 'storage' })
      expect(failure.message).to.include(directory).and.to.include('EACCES')
    })
  })

  it('fails if a file blocks its directory, and the next line tries again', () => {
    withDirectory((directory) => {
      const place = join(directory, 'sessions')
      writeFileSync(place, '')
      const writer = TranscriptWriter.create(place, about, systemClock)
      const failure = thrownFailure(() => writer.append({ type: 'user', turn: 1, at, text: 'Hi' }))
      expect(failure).to.include({ kind: 'storage' })
      expect(failure.message).to.include(writer.path)
      expect(failure.hint).to.include('XDG_DATA_HOME')
      rmSync(place)
      writer.append({ type: 'user', turn: 2, at, text: 'Again' })
      writer.close()
      expect(readTranscript(writer.path)).to.include({ profile: 'work' })
      expect(readTranscript(writer.path).turns.map(({ user }) => user)).to.deep.equal(['Again'])
    })
  })
})
