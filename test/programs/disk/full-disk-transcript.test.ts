import { join } from 'node:path'
import { expect } from 'chai'
import { readTranscript } from '../../../src/chat/transcript/read-transcript.ts'
import { TranscriptWriter } from '../../../src/chat/transcript/transcript-writer.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { perSuite } from '../../support/lifetime.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { thrownFailure } from '../../support/thrown-failure.ts'
import { fillDisk, mountSmallDisk } from './small-disk.ts'

/** Needs root to mount a disk. */
describe('a transcript on a full disk', () => {
  const sandbox = perSuite(createSandbox)
  let disk: string
  let unmount: () => void
  before(() => {
    ;({ path: disk, unmount } = mountSmallDisk(sandbox, '256k'))
  })
  after(() => {
    unmount()
  })

  it('causes an error, keeps what was written, and continues when there is space', () => {
    const at = new Date().toISOString()
    const writer = TranscriptWriter.create(
      join(disk, 'sessions'),
      { profile: null, baseUrl: null },
      systemClock,
    )
    writer.append({ type: 'user', turn: 1, at, text: 'Hi' })
    const free = fillDisk(disk, 8192)
    let fitted = 0
    const failure = thrownFailure(() => {
      for (; ; fitted++) writer.append({ type: 'delta', turn: 1, text: `${'x'.repeat(99)} ` })
    })
    expect(failure.kind).to.equal('storage')
    expect(failure.message).to.include(writer.path).and.to.include('ENOSPC')
    expect(failure.hint).to.equal('Free some space on the disk.')
    expect(readTranscript(writer.path).turns[0]?.reply).to.have.lengthOf(fitted * 100)
    free()
    writer.append({ type: 'delta', turn: 1, text: 'end' })
    writer.append({ type: 'end', turn: 1, at, complete: true, verified: true })
    writer.sync()
    writer.close()
    const [turn] = readTranscript(writer.path).turns
    expect(turn).to.include({ status: 'complete' })
    expect(turn?.reply).to.have.lengthOf(fitted * 100 + 3)
  })

  it('leaves nothing incomplete if the disk is full from the start', () => {
    const free = fillDisk(disk)
    const writer = TranscriptWriter.create(
      join(disk, 'sessions'),
      { profile: null, baseUrl: null },
      systemClock,
    )
    const say = () => writer.append({ type: 'user', turn: 1, at: new Date().toISOString(), text: 'Hi' })
    expect(thrownFailure(say).kind).to.equal('storage')
    free()
    say()
    writer.close()
    expect(readTranscript(writer.path).turns.map(({ user }) => user)).to.deep.equal(['Hi'])
  })
})
