import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { readMessages } from '../../src/chat/transcript/read-transcript.ts'
import { transcriptFiles } from '../../src/chat/transcript/transcript-files.ts'
import type { TranscriptLine } from '../../src/chat/transcript/transcript-line.ts'
import { SearchQuery } from '../../src/history/search-query.ts'
import { TranscriptIndex } from '../../src/history/transcript-index.ts'
import { perTest } from '../support/lifetime.ts'
import { createMirrors } from './temporary-mirrors.ts'

const owner = { profile: 'work', baseUrl: 'https://chat.example/' }

/** A turn: what of its reply was recorded. */
const turns = fc.array(
  fc.record({
    pieces: fc.array(fc.constantFrom('word ', 'a ', '数据 '), { maxLength: 3 }),
    ends: fc.boolean(),
    recovered: fc.boolean(),
  }),
  { maxLength: 6 },
)

function linesOf(all: readonly { pieces: string[]; ends: boolean; recovered: boolean }[]): TranscriptLine[] {
  const at = (turn: number) => new Date(Date.UTC(2026, 0, 1, 0, turn)).toISOString()
  return [
    {
      v: 1,
      type: 'session',
      id: 's1',
      at: at(0),
      profile: owner.profile,
      base_url: owner.baseUrl,
    } as TranscriptLine,
    ...all.flatMap(({ pieces, ends, recovered }, index): TranscriptLine[] => {
      const turn = index + 1
      return [
        { type: 'user', turn, at: at(turn), text: `word ${turn}` },
        { type: 'start', turn, at: at(turn), context_id: `c${turn}`, id: `m${turn}` },
        ...pieces.map((text) => ({ type: 'delta' as const, turn, text })),
        ...(ends ? [{ type: 'end' as const, turn, at: at(turn), complete: true, verified: true }] : []),
        ...(recovered
          ? [{ type: 'recovered' as const, turn, at: at(turn), text: `word recovered ${turn}` }]
          : []),
      ]
    }),
  ]
}

describe('the index of transcripts', () => {
  const mirrors = perTest(createMirrors)

  async function search(directory: string, sessions: string, words: string) {
    const loadReader = async () => readMessages
    const index = await TranscriptIndex.open(directory, { files: transcriptFiles(sessions), loadReader })
    try {
      const filters = { since: undefined, role: undefined, contextId: undefined }
      const found = Array.from(index.search(new SearchQuery(words), filters, 100, owner))
      return {
        sessions: index.countSessions(owner),
        found: found
          .map(({ id: _, ...rest }) => rest)
          .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)),
      }
    } finally {
      index.close()
    }
  }

  it('is the same after any number of appended pieces as when it is built in one piece', async () => {
    let run = 0
    await fc.assert(
      fc.asyncProperty(turns, fc.array(fc.nat(), { maxLength: 6 }), async (all, cuts) => {
        const own = join(mirrors.home, String(run++))
        const sessions = join(own, 'sessions')
        mkdirSync(sessions, { recursive: true })
        const file = join(sessions, 's1.jsonl')
        const bytes = Buffer.from(
          linesOf(all)
            .map((line) => `${JSON.stringify(line)}\n`)
            .join(''),
        )
        const ends = [...cuts.map((cut) => cut % bytes.length), bytes.length].sort((a, b) => a - b)
        let at = 0
        for (const end of ends) {
          appendFileSync(file, bytes.subarray(at, end))
          at = end
          await search(join(own, 'kept'), sessions, 'word')
        }
        for (const words of ['word', 'recovered', '数据']) {
          const incremental = await search(join(own, 'kept'), sessions, words)
          expect(incremental).to.deep.equal(await search(join(own, `fresh ${words}`), sessions, words))
        }
      }),
      { numRuns: 0.2 * (fc.readConfigureGlobal().numRuns ?? 100) },
    )
  })

  it('contains prompts and replies with their conversations and the IDs of the replies', async () => {
    const sessions = join(mirrors.home, 'sessions')
    mkdirSync(sessions)
    const lines = linesOf([{ pieces: ['the ', 'word'], ends: true, recovered: false }])
    writeFileSync(join(sessions, 's1.jsonl'), lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    const { found } = await search(join(mirrors.home, 'mirrors'), sessions, 'word')
    const common = { at: '2026-01-01T00:01:00.000Z', contextId: 'c1', sessionId: 's1', turn: 1 }
    expect(found).to.deep.equal([
      { ...common, role: 'assistant', messageId: 'm1', text: 'the word' },
      { ...common, role: 'user', messageId: null, text: 'word 1' },
    ])
  })

  it('forgets a deleted session and reads a replaced one again', async () => {
    const sessions = join(mirrors.home, 'sessions')
    const directory = join(mirrors.home, 'mirrors')
    mkdirSync(sessions)
    const write = (name: string, pieces: string[]) => {
      const lines = linesOf([{ pieces, ends: true, recovered: false }])
      writeFileSync(join(sessions, name), lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    }
    write('s1.jsonl', ['first reply, with many words'])
    write('s2.jsonl', ['second'])
    expect((await search(directory, sessions, 'first')).found).to.have.lengthOf(1)
    write('s1.jsonl', ['short'])
    rmSync(join(sessions, 's2.jsonl'))
    expect((await search(directory, sessions, 'first')).found).to.have.lengthOf(0)
    expect((await search(directory, sessions, 'second')).found).to.have.lengthOf(0)
    expect((await search(directory, sessions, 'short')).sessions).to.equal(1)
  })
})
