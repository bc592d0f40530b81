import { fork } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect } from 'chai'
import { readTranscript } from '../../src/chat/transcript/read-transcript.ts'
import { TranscriptWriter } from '../../src/chat/transcript/transcript-writer.ts'
import { thrownFailure } from '../support/thrown-failure.ts'
import { until } from '../support/until.ts'

describe('a transcript', () => {
  it('keeps what was appended before its process was killed, and can be opened again immediately', async () => {
    const child = fork(new URL('write-until-killed.ts', import.meta.url), [], { silent: true })
    const [{ path }] = (await once(child, 'message')) as [{ path: string }]
    expect(thrownFailure(() => TranscriptWriter.reopen(path)).kind).to.equal('conflict')
    let told = 0
    child.on('message', ({ number }: { number?: number }) => {
      told = number ?? told
    })
    await until(() => told > 5)
    child.kill('SIGKILL')
    await once(child, 'close')
    const [turn] = readTranscript(path).turns
    expect(turn?.status).to.equal('lost')
    const numbers = turn?.reply.trim().split(' ').map(Number) ?? []
    expect(numbers.length).to.be.at.least(told)
    expect(numbers).to.deep.equal(numbers.map((_, index) => index + 1))
    TranscriptWriter.reopen(path).close()
    rmSync(dirname(path), { recursive: true })
  })
})
