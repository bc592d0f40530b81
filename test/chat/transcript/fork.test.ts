import { readFileSync, statSync, utimesSync } from 'node:fs'
import { expect } from 'chai'
import fc from 'fast-check'
import { openConversation, type ResumeHost } from '../../../src/chat/resume/open-conversation.ts'
import { readTranscript } from '../../../src/chat/transcript/read-transcript.ts'
import type { TranscriptLine } from '../../../src/chat/transcript/transcript.ts'
import { TranscriptWriter } from '../../../src/chat/transcript/transcript-writer.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { codePoint } from '../../support/code-point.ts'
import { createSandbox } from '../../support/sandbox.ts'

const at = '2026-01-02T03:04:05.000Z'
const text = fc.string({ unit: codePoint, maxLength: 8 })
const mode = fc.constantFrom('context' as const, 'completions' as const)
const id = fc.option(fc.constantFrom('c1', 'c2'), { nil: undefined })

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
const ends = [
  { complete: true, verified: true },
  { complete: false, verified: false, reason: 'reset' },
  { complete: false, verified: false, interrupted: true as const },
]
/** A turn, with what came before it. `isRecovered` adds a line that a later session wrote. */
const turn = fc.record({
  before: fc.array(between, { maxLength: 2 }),
  user: text,
  context_id: id,
  deltas: fc.array(text, { maxLength: 3 }),
  end: fc.option(fc.constantFrom(...ends), { nil: undefined }),
  isRecovered: fc.boolean(),
})

describe('a fork of any transcript at any message', () => {
  it('contains exactly the turns up to it, and never changes the original', async () => {
    const sandbox = createSandbox()
    const owner = { profile: 'p', baseUrl: undefined }
    const options = { isRecorded: true, directories: { sessions: sandbox.home }, owner, clock: systemClock }
    const session = { options: { ...options, showCommand: String } } as unknown as ResumeHost
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
            const start = { kind: 'transcript', path } as const
            const opened = await openConversation(session, start, new AbortController().signal, String(last))
            opened.writer.close()
            writer.close()
            expect(readFileSync(path).equals(before)).to.equal(true)
            expect(statSync(path).mtimeMs).to.equal(1000)
            const copy = readTranscript(opened.writer.path)
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
