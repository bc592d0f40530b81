import { readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import type { OpenOptions } from '../../../src/chat/conversation-start.ts'
import { openConversation } from '../../../src/chat/open-conversation.ts'
import { readTranscript } from '../../../src/chat/transcript/read-transcript.ts'
import type { TranscriptLine } from '../../../src/chat/transcript/transcript-line.ts'
import { TranscriptWriter } from '../../../src/chat/transcript/transcript-writer.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { codePoint } from '../../support/code-point.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { withDirectory } from './temporary-directory.ts'

const at = '2026-01-02T03:04:05.000Z'
const text = fc.string({ unit: codePoint, maxLength: 12 })
const turn = fc.integer({ min: 1, max: 4 })
const line: fc.Arbitrary<TranscriptLine> = fc.oneof(
  fc.record({ type: fc.constant('name' as const), name: text }),
  fc.record(
    {
      type: fc.constant('options' as const),
      at: fc.constant(at),
      mode: fc.constantFrom('context' as const, 'completions' as const),
      context_id: text,
      model: text,
      system: text,
      temperature: fc.double({ noNaN: true, noDefaultInfinity: true }),
    },
    { requiredKeys: ['type', 'at', 'mode'] },
  ),
  fc.record({
    type: fc.constant('conversation' as const),
    at: fc.constant(at),
    messages: fc.array(fc.record({ role: fc.constantFrom('user', 'assistant'), content: text }), {
      maxLength: 3,
    }),
  }),
  fc.record({ type: fc.constant('user' as const), turn, at: fc.constant(at), text }),
  fc.record(
    { type: fc.constant('start' as const), turn, at: fc.constant(at), context_id: text, id: text },
    { requiredKeys: ['type', 'turn', 'at'] },
  ),
  fc.record({ type: fc.constant('delta' as const), turn, text }),
  fc.record({ type: fc.constant('usage' as const), turn, usage: fc.constant({ total_tokens: 3 }) }),
  fc.record(
    {
      type: fc.constant('end' as const),
      turn,
      at: fc.constant(at),
      complete: fc.boolean(),
      verified: fc.boolean(),
      finish_reason: text,
      interrupted: fc.constant(true as const),
    },
    { requiredKeys: ['type', 'turn', 'at', 'complete', 'verified'] },
  ),
  fc.record({ type: fc.constant('recovered' as const), turn, at: fc.constant(at), text }),
) as fc.Arbitrary<TranscriptLine>

describe('a transcript that is truncated at any byte', () => {
  it('contains exactly its complete lines, and can be continued', () => {
    withDirectory((directory) => {
      fc.assert(
        fc.property(fc.array(line, { maxLength: 14 }), fc.nat(), (lines, somewhere) => {
          const writer = TranscriptWriter.create(directory, { profile: 'p', baseUrl: null }, systemClock)
          writer.append({ type: 'user', turn: 0, at, text: 'first' })
          for (const each of lines) writer.append(each)
          writer.close()
          const bytes = readFileSync(writer.path)
          const cut = somewhere % (bytes.length + 1)
          const whole = bytes.toString('latin1').slice(0, cut).split('\n').slice(0, -1).join('\n')
          writeFileSync(writer.path, Buffer.from(`${whole}\n`, 'latin1'))
          const expected = readTranscript(writer.path)
          const users =
            Buffer.from(whole, 'latin1')
              .toString('utf8')
              .match(/^\{"type":"user".*$/gm) ?? []
          expect(expected.turns.map(({ user }) => user)).to.deep.equal(
            users.map((user) => JSON.parse(user).text),
          )

          writeFileSync(writer.path, bytes.subarray(0, cut))
          expect(readTranscript(writer.path)).to.deep.equal(expected)

          const again = TranscriptWriter.reopen(writer.path)
          again.append({ type: 'conversation', at, messages: [] })
          again.append({ type: 'user', turn: 9, at, text: 'later' })
          again.append({ type: 'delta', turn: 9, text: 'yes' })
          again.append({ type: 'end', turn: 9, at, complete: true, verified: true })
          again.close()
          const { turns, conversation } = readTranscript(writer.path)
          expect(conversation.map(({ content }) => content)).to.deep.equal(['later', 'yes'])
          expect(turns.slice(0, -1)).to.deep.equal(expected.turns)
          expect(turns.at(-1)).to.include({ user: 'later', reply: 'yes', status: 'complete' })
        }),
        { numRuns: 2 * (fc.readConfigureGlobal().numRuns ?? 100) },
      )
    })
  })

  it('can be read with any bytes in it', () => {
    withDirectory((directory) => {
      const path = join(directory, 's.jsonl')
      fc.assert(
        fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
          writeFileSync(path, bytes)
          expect(readTranscript(path)).to.include({ id: 's' })
        }),
      )
    })
  })
})

const mode = fc.constantFrom('context' as const, 'completions' as const)
const id = fc.option(fc.constantFrom('c1', 'c2'), { nil: undefined })
const ends = [
  { complete: true, verified: true },
  { complete: false, verified: false, reason: 'reset' },
  { complete: false, verified: false, interrupted: true as const },
]

describe('a fork of any transcript at any message', () => {
  const text = fc.string({ unit: codePoint, maxLength: 8 })

  /** What may be recorded between two turns. */
  const between: fc.Arbitrary<TranscriptLine> = fc.oneof(
    fc.record({ type: fc.constant('name' as const), name: text }),
    fc.record({
      type: fc.constant('options' as const),
      at: fc.constant(at),
      mode,
      context_id: id,
      system: text,
    }),
  )

  /** A turn, with what came before it. `isRecovered` adds a line that a later session wrote. */
  const turn = fc.record({
    before: fc.array(between, { maxLength: 2 }),
    user: text,
    context_id: id,
    deltas: fc.array(text, { maxLength: 3 }),
    end: fc.option(fc.constantFrom(...ends), { nil: undefined }),
    isRecovered: fc.boolean(),
  })

  it('contains exactly the turns up to it, and never changes the original', async () => {
    const sandbox = createSandbox()
    const owner = { profile: 'p', baseUrl: undefined }
    const directories = { sessions: sandbox.home }
    const run = {
      directories,
      clock: systemClock,
      contextOwner: () => owner,
      commandFor: String,
      knownUser: () => {},
    }
    const options = { run, isRecorded: true, isShown: true } as unknown as OpenOptions
    try {
      await fc.assert(
        fc.asyncProperty(
          fc.array(turn, { minLength: 1, maxLength: 5 }),
          fc.nat(),
          async (turns, somewhere) => {
            const lines = turns.flatMap(
              ({ before, user, context_id, deltas, end }, index): TranscriptLine[] => {
                const number = index + 1
                return [
                  ...before,
                  { type: 'user', turn: number, at, text: user },
                  { type: 'start', turn: number, at, context_id },
                  ...deltas.map((delta) => ({ type: 'delta' as const, turn: number, text: delta })),
                  ...(end ? [{ type: 'end' as const, turn: number, at, ...end }] : []),
                ]
              },
            )
            const recovered = turns.flatMap(({ isRecovered }, index): TranscriptLine[] =>
              isRecovered ? [{ type: 'recovered', turn: index + 1, at, text: 'whole' }] : [],
            )
            const writer = TranscriptWriter.create(sandbox.home, { profile: 'p', baseUrl: null }, systemClock)
            writer.append([...lines, ...recovered])
            // The original stays open, as in another process.
            const { path } = writer
            utimesSync(path, 1, 1)
            const before = readFileSync(path)
            const last = 1 + (somewhere % turns.length)
            const begin = { kind: 'transcript', path } as const
            const opened = await openConversation({ ...options, begin, fork: String(last) })
            opened.recorder.close()
            writer.close()
            expect(readFileSync(path).equals(before)).to.equal(true)
            expect(statSync(path).mtimeMs).to.equal(1000)
            const copy = readTranscript(opened.recorder.path ?? '')
            const whole = readTranscript(path)
            expect(copy.turns).to.deep.equal(whole.turns.slice(0, last))
            expect(copy).to.deep.include({ mode: 'completions', contextId: undefined, forkedFrom: whole.id })
            expect(copy.conversation).to.deep.equal(opened.conversation.messages)
          },
        ),
        { numRuns: 2 * (fc.readConfigureGlobal().numRuns ?? 100) },
      )
    } finally {
      sandbox.remove()
    }
  })
})
