import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { readTranscript } from '../../../src/chat/transcript/read-transcript.ts'
import { TranscriptWriter } from '../../../src/chat/transcript/transcript-writer.ts'
import { startService } from '../../../src/service/start-service.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { expectExactlyOnce, expectSettled } from '../../slow/users/import/expect-settled.ts'
import { ImportTrial } from '../../slow/users/import/import-trial.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { startBearerService } from '../../support/handlers/bearer.ts'
import { perSuite } from '../../support/lifetime.ts'
import { runProgram } from '../../support/run-program.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { thrownFailure } from '../../support/thrown-failure.ts'
import { loginWithKey, storedKey } from '../keychain/stored-key.ts'
import { fillDisk, mountSmallDisk } from './small-disk.ts'

/** Needs root to mount a disk. */
describe('a full disk', () => {
  const sandbox = perSuite(createSandbox)
  const disk = perSuite(() => mountSmallDisk(sandbox, '1m'))

  const run = (line: string, stdin = '') =>
    runProgram(sandbox, line.split(' '), { env: { XDG_DATA_HOME: disk.path }, stdin })

  it('causes an error that names the disk if no data exists yet, and creates none', async () => {
    const free = fillDisk(disk.path)
    expectFailure(await run('chat send hi'), 1, 'No space left on the disk of', disk.path, 'Hint:  ')
    expectFailure(await run('service keys create --name x'), 1, 'No space left')
    free()
    expect(await run('chat send hi')).to.include({ exitCode: 0 })
  })

  it('rejects a message that does not fit, and still allows reads and smaller messages', async () => {
    const history = async () => JSON.parse((await run('history list --json')).stdout)
    const before = await history()
    const free = fillDisk(disk.path, 600_000)
    const big = await run('chat send --json', 'x'.repeat(1_000_000))
    expect(big, big.stderr).to.include({ exitCode: 69, stdout: '' })
    const [warning = '', error = ''] = big.stderr.split('\n')
    expect(JSON.parse(warning).warning.message).to.contain('does not record the message and its reply')
    expect(JSON.parse(error).error).to.include({ code: 'storage_full', status: 507 })
    expect(await history()).to.deep.equal(before)
    expect(await run('chat send small')).to.include({ exitCode: 0 })
    expect((await history()).messages).to.have.length(before.messages.length + 2)
    free()
  })

  it('makes a service process not ready, until there is space again', async () => {
    const service = await startService({ dataDir: join(disk.path, 'service') })
    const ready = async () => {
      const answer = await fetch(`${service.url}/readyz`)
      return [answer.status, JSON.parse(await answer.text()).error?.code]
    }
    expect(await ready()).to.deep.equal([200, undefined])
    const free = fillDisk(disk.path)
    while ((await ready())[0] === 200);
    expect(await ready()).to.deep.equal([503, 'storage_full'])
    free()
    while ((await ready())[0] !== 200);
    await service.close()
  })

  it('leaves the configuration file unchanged', async () => {
    const env = { XDG_CONFIG_HOME: join(disk.path, 'config') }
    const config = (...words: string[]) => runProgram(sandbox, ['config', ...words], { env })
    expect(await config('set', 'model', 'first')).to.include({ exitCode: 0 })
    const free = fillDisk(disk.path)
    expectFailure(await config('set', 'model', 'second'), 1, ': no space left on device (ENOSPC)')
    expect((await config('get', 'model')).stdout).to.equal('first\n')
    free()
    expect(await config('set', 'model', 'third')).to.include({ exitCode: 0 })
  })

  it('leaves the old credential, and nothing of the new one', async () => {
    await using service = await startBearerService(() => true)
    // No other test uses this profile.
    const env = { XDG_DATA_HOME: disk.path, XDG_CONFIG_HOME: join(sandbox.home, 'of-credential') }
    const login = (key: string) => loginWithKey(sandbox, service, key, { env, flags: ['--insecure-storage'] })
    const directory = join(disk.path, 'chatctl', 'credentials')
    const kept = () =>
      readdirSync(directory).map((name) => readFileSync(join(directory, name), 'utf8').trim())
    expect(await login('canary-1')).to.include({ exitCode: 0 })
    const free = fillDisk(disk.path)
    const { exitCode, stderr } = await login('canary-2')
    expect(exitCode, stderr).to.equal(1)
    expect(stderr).to.contain(': no space left on device (ENOSPC)')
    expect(kept()).to.deep.equal([storedKey('canary-1')])
    free()
    expect(await login('canary-3')).to.include({ exitCode: 0 })
    expect(kept()).to.deep.equal([storedKey('canary-3')])
  })
})

describe('an import with its ledger on a full disk', () => {
  const trial = perSuite(() => ImportTrial.begin({ rows: 120, delay: 5 }))
  const disk = perSuite(() => mountSmallDisk(trial.sandbox, '256k'))
  before(() => {
    trial.sandbox.env['XDG_STATE_HOME'] = disk.path
  })

  it('sends nothing that it cannot record, and resumes when there is space', async () => {
    let free = () => {}
    const fill = () => {
      free = fillDisk(disk.path)
    }
    const run = await trial.run({ at: { atRequest: 40 }, act: fill })
    expect(run.exitCode, run.stderr).to.equal(1)
    expect(run.stderr).to.contain('ENOSPC')
    expectExactlyOnce(trial)
    const ids = trial.readResults().map(({ id }) => id)
    expect(ids).to.include.members(trial.createdUsers().map(({ id }) => id))
    const again = await trial.run()
    expect(again.exitCode, again.stderr).to.equal(1)
    expectExactlyOnce(trial)
    free()
    const last = await trial.run()
    expect(last.exitCode, last.stderr).to.equal(9)
    // Outcomes that could not be recorded are unknown, as after a kill.
    expectSettled(trial, 1)
  })
})

describe('a transcript on a full disk', () => {
  const sandbox = perSuite(createSandbox)
  const disk = perSuite(() => mountSmallDisk(sandbox, '256k'))
  const createWriter = () =>
    TranscriptWriter.create(join(disk.path, 'sessions'), { profile: null, baseUrl: null }, systemClock)

  it('causes an error, keeps what was written, and continues when there is space', () => {
    const at = new Date().toISOString()
    const writer = createWriter()
    writer.append({ type: 'user', turn: 1, at, text: 'Hi' })
    const free = fillDisk(disk.path, 8192)
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
    const free = fillDisk(disk.path)
    const writer = createWriter()
    const say = () => writer.append({ type: 'user', turn: 1, at: new Date().toISOString(), text: 'Hi' })
    expect(thrownFailure(say).kind).to.equal('storage')
    free()
    say()
    writer.close()
    expect(readTranscript(writer.path).turns.map(({ user }) => user)).to.deep.equal(['Hi'])
  })
})
