import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { readTranscript } from '../../src/chat/transcript/read-transcript.ts'
import { TranscriptWriter } from '../../src/chat/transcript/transcript-writer.ts'
import { makeEmptyDirectory } from '../support/empty-directory.ts'
import { perTest } from '../support/lifetime.ts'
import { thrownFailure } from '../support/thrown-failure.ts'
import { until } from '../support/until.ts'

const worker = fileURLToPath(new URL('../system/lock-worker.ts', import.meta.url))

describe('a process lock under contention', () => {
  const directory = perTest(makeEmptyDirectory)

  async function runFour(...words: string[]): Promise<void> {
    const exits = [1, 2, 3, 4].map(() =>
      once(spawn(process.execPath, [worker, ...words], { stdio: ['ignore', 'ignore', 'inherit'] }), 'exit'),
    )
    for (const [code] of await Promise.all(exits)) expect(code).to.equal(0)
  }

  it('is held by one process at a time, also while others remove and create its file', async () => {
    await runFour('contend', join(directory.path, 'a.lock'), '1000')
  })

  it('keeps all changes of four processes that change one file at the same time', async () => {
    const file = join(directory.path, 'number')
    writeFileSync(file, '0')
    await runFour('count', file, '15')
    expect(readFileSync(file, 'utf8')).to.equal('60')
    expect(readdirSync(directory.path)).to.deep.equal(['number'])
  })
})

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
