import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { findTranscript, listTranscripts } from '../../../src/chat/transcript/list-transcripts.ts'
import type { TranscriptLine } from '../../../src/chat/transcript/transcript-line.ts'
import { TranscriptWriter } from '../../../src/chat/transcript/transcript-writer.ts'
import { joinFiles, type TextFile } from '../../../src/contract/resources/file-block.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { thrownFailure } from '../../support/thrown-failure.ts'
import { withDirectory } from './temporary-directory.ts'

const work = { profile: 'work', baseUrl: 'https://chat.example/' }
const time = (second: number) => new Date(Date.UTC(2026, 0, 2, 3, 4, second)).toISOString()

function turn(number: number, text = `question ${number}`, answer = 'yes'): TranscriptLine[] {
  const at = time(number)
  return [
    { type: 'user', turn: number, at, text },
    { type: 'start', turn: number, at, context_id: 'c1', model: 'small' },
    ...(answer.match(/.{1,50}/gs)?.map((text) => ({ type: 'delta' as const, turn: number, text })) ?? []),
    { type: 'end', turn: number, at, complete: true, verified: true },
  ]
}

function write(
  directory: string,
  lines: readonly TranscriptLine[],
  about: typeof work | { profile: null; baseUrl: null } = work,
): TranscriptWriter {
  const writer = TranscriptWriter.create(directory, about, systemClock)
  for (const line of lines) writer.append(line)
  writer.close()
  return writer
}

/** Writes a transcript with the given ID. */
function place(directory: string, id: string, lines: readonly TranscriptLine[]): string {
  const { path, id: own } = write(directory, lines)
  const to = join(directory, `${id}.jsonl`)
  writeFileSync(path, readFileSync(path, 'utf8').replaceAll(own, id))
  renameSync(path, to)
  return to
}

describe('the list of transcripts', () => {
  it('is empty without a directory', () => {
    withDirectory((directory) => expect(listTranscripts(join(directory, 'none'))).to.deep.equal([]))
  })

  it('has the most recently used first, with a summary of each', () => {
    withDirectory((directory) => {
      const second = write(directory, turn(6))
      const first = write(directory, [{ type: 'name', name: 'trip' }, ...turn(1), ...turn(5)])
      const [one, two] = listTranscripts(directory)
      expect(one).to.deep.include({
        ...work,
        id: first.id,
        path: first.path,
        updatedAt: time(5),
        turns: 5,
        name: 'trip',
        contextId: 'c1',
        model: 'small',
        firstMessage: 'question 1',
      })
      expect(two).to.include({ id: second.id, name: 'question 6', isNamed: false })
    })
  })

  it('has the name and the options in force at the end', () => {
    withDirectory((directory) => {
      const at = time(9)
      const { path } = write(directory, [
        { type: 'name', name: 'named' },
        { type: 'options', at, mode: 'context', model: 'small' },
        ...turn(1, 'the first'),
        { type: 'options', at, mode: 'context', context_id: 'c1', model: 'large' },
        { type: 'name', name: 'renamed' },
        ...turn(2),
      ])
      const again = TranscriptWriter.reopen(path)
      for (const line of turn(3)) again.append(line)
      again.close()
      const expected = {
        name: 'renamed',
        model: 'large',
        contextId: 'c1',
        turns: 3,
        firstMessage: 'the first',
      }
      expect(listTranscripts(directory)[0]).to.include(expected)
    })
  })

  it('names each session after the first line of its first message, without the files in it', () => {
    withDirectory((directory) => {
      const [a, b] = ['a.md', 'b.md'].map((name) => ({ name, content: 'x\n' })) as [TextFile, TextFile]
      const long = 'x'.repeat(100)
      for (const [text, name] of [
        ['What is WAL?\nIn one sentence', 'What is WAL?'],
        [`\n \u001b  two\t words \nmore`, 'two words'],
        [joinFiles({ files: [a, b], text: 'Compare these' }), 'Compare these'],
        [joinFiles({ files: [a, b], text: '' }), 'a.md'],
        [long, `${long.slice(0, 59)}…`],
      ] as const) {
        const { id } = write(directory, turn(1, text))
        const summary = listTranscripts(directory).find((one) => one.id === id)
        expect(summary, text).to.include({ name, isNamed: false })
      }
      expect(listTranscripts(directory, undefined, { isWanted: ({ turns }) => turns === 0 })).to.deep.equal(
        [],
      )
    })
  })

  it('skips entries that it cannot read', () => {
    withDirectory((directory) => {
      mkdirSync(join(directory, 'directory.jsonl'))
      writeFileSync(join(directory, 'other.txt'), 'x')
      const { id } = write(directory, turn(1))
      expect(listTranscripts(directory).map((summary) => summary.id)).to.deep.equal([id])
    })
  })
})

describe('finding a transcript', () => {
  it('works by ID, by a unique prefix of the ID, and by a given or an automatic name', () => {
    withDirectory((directory) => {
      const one = place(directory, 's20260102-030405-aaaa', [
        { type: 'name', name: 'trip to Rome' },
        ...turn(1),
      ])
      const two = place(directory, 's20260102-030405-aaab', turn(2))
      const three = place(directory, 's20260203-030405-cccc', [{ type: 'name', name: 's2026' }, ...turn(3)])
      for (const [wanted, path] of [
        ['s20260102-030405-aaaa', one],
        ['s20260102-030405-aaab', two],
        ['s202602', three],
        ['202602', three],
        ['trip to Rome', one],
        ['question 2', two],
        // A name has priority over a prefix of an ID.
        ['s2026', three],
      ] as const)
        expect(findTranscript(directory, wanted), wanted).to.equal(path)
      // A given name has priority over an automatic one, also of the same session.
      const given = place(directory, 's20260303-030405-dddd', [
        { type: 'name', name: 'question 2' },
        ...turn(3),
      ])
      expect(findTranscript(directory, 'question 2')).to.equal(given)
      expect(thrownFailure(() => findTranscript(directory, 'question 3')).kind).to.equal('not_found')
    })
  })

  it('fails for no match, for several matches, and for paths outside its directory', () => {
    withDirectory((directory) => {
      for (const letter of 'abcdefg') place(directory, `s20260102-030405-aaa${letter}`, turn(1, 'same'))
      for (const wanted of ['', 'nope', '..', '../x', 's20260102-030405-aaaa.jsonl'])
        expect(thrownFailure(() => findTranscript(directory, wanted)).kind, wanted).to.equal('not_found')
      for (const wanted of ['s2026', 'same']) {
        const failure = thrownFailure(() => findTranscript(directory, wanted))
        expect(failure.kind).to.equal('usage')
        expect(failure.message)
          .to.include('s20260102-030405-aaag, s20260102-030405-aaaf')
          .and.to.include(' and 2 more')
      }
      expect(thrownFailure(() => findTranscript(join(directory, 'none'), 'x')).kind).to.equal('not_found')
    })
  })
})
