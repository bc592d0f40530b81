import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import type { ApiResponse } from '../../src/client/response/response.ts'
import { Failure } from '../../src/contract/failure.ts'
import { readSent, sendConfiguration } from '../../src/settings/apply/sent-configuration.ts'
import { reasonOf } from '../client/capture.ts'
import { SteppedClock } from '../support/stepped-clock.ts'
import { useStateDirectory } from './state-directory.ts'

const service = 'https://chat.example/'
const quiet = new AbortController().signal
const done = async (): Promise<ApiResponse<unknown>> => ({ body: {}, status: 200, headers: {}, faults: [] })

describe('the record of the API configuration that was last sent', () => {
  const state = useStateDirectory()
  const clock = new SteppedClock()
  const send = (
    version: string,
    act: () => Promise<ApiResponse<unknown>> = done,
    signal = quiet,
    to = service,
  ) => sendConfiguration(state.directories, to, { version }, act, { signal, clock })
  const directory = () => join(state.path(), 'api-configuration')

  it('contains the configuration of the last 2xx response, with the time', async () => {
    expect((await send('1')).status).to.equal(200)
    clock.pass(1_500)
    await send('2')
    const sent = readSent(state.directories, service)
    expect(sent?.configuration).to.deep.equal({ version: '2' })
    expect(sent?.sentAt).to.equal('2026-03-01T12:00:01.500Z')
  })

  it('is separate for each service', async () => {
    await send('1')
    await send('2', done, quiet, 'local')
    expect(readSent(state.directories, service)?.configuration).to.deep.equal({ version: '1' })
    expect(readSent(state.directories, 'local')?.configuration).to.deep.equal({ version: '2' })
    expect(readSent(state.directories, `${service}x`)).to.equal(undefined)
  })

  it('is a file that only its owner can read', async () => {
    await send('1')
    const [name = '', ...others] = readdirSync(directory())
    expect(others).to.deep.equal([])
    expect(name).to.match(/^[0-9a-f]{24}\.json$/)
    expect(statSync(directory()).mode & 0o777).to.equal(0o700)
    expect(statSync(join(directory(), name)).mode & 0o777).to.equal(0o600)
  })

  it('is empty during a request, so that a crash leaves no wrong record', async () => {
    await send('1')
    await send('2', async () => {
      expect(readSent(state.directories, service)).to.equal(undefined)
      return done()
    })
  })

  it('is unchanged after a refusal or a held request', async () => {
    await send('1')
    const before = readSent(state.directories, service)
    const reasons = [
      new Failure('forbidden', 'no', { status: 403 }),
      new Failure('unreachable', 'no'),
      new Error('held back'),
    ]
    for (const reason of reasons) {
      expect(await reasonOf(send('2', () => Promise.reject(reason)))).to.equal(reason)
      expect(readSent(state.directories, service)).to.deep.equal(before)
    }
  })

  it('is empty after an unknown outcome or an interruption', async () => {
    await send('1')
    const failure = new Failure('server_error', 'no', { status: 500, isOutcomeUnknown: true })
    expect(await reasonOf(send('2', () => Promise.reject(failure)))).to.equal(failure)
    expect(readSent(state.directories, service)).to.equal(undefined)

    await send('1')
    const abort = new AbortController()
    const broken = send(
      '2',
      () => {
        abort.abort(new Error('ended'))
        return Promise.reject(abort.signal.reason)
      },
      abort.signal,
    )
    expect(await reasonOf(broken)).to.equal(abort.signal.reason)
    expect(readSent(state.directories, service)).to.equal(undefined)
  })

  it('is ignored if its file is invalid or belongs to another service', async () => {
    await send('1')
    const [name = ''] = readdirSync(directory())
    const path = join(directory(), name)
    const text = readFileSync(path, 'utf8')
    const broken = ['', text.slice(0, -5), 'null', text.replace(service, 'https://other.example/')]
    for (const content of broken) {
      writeFileSync(path, content)
      expect(readSent(state.directories, service), content).to.equal(undefined)
    }
    writeFileSync(path, text)
    expect(readSent(state.directories, service)?.configuration).to.deep.equal({ version: '1' })
  })

  it('causes a warning, not a failure, if it cannot be written', async () => {
    mkdirSync(state.path(), { recursive: true })
    writeFileSync(directory(), 'in the way')
    const { status, warning } = await send('1')
    expect(status).to.equal(200)
    expect(warning).to.match(
      /^the sent configuration cannot be recorded for the next diff: .*\((ENOTDIR|EEXIST)\)$/,
    )
  })

  it('prevents the request if it cannot be removed first', async () => {
    await send('1')
    const [name = ''] = readdirSync(directory())
    rmSync(join(directory(), name))
    // Not even root can remove a directory as a file.
    mkdirSync(join(directory(), name))
    let sent = false
    const reason = await reasonOf(
      send('2', () => {
        sent = true
        return done()
      }),
    )
    expect((reason as Failure).kind).to.equal('storage')
    expect(sent).to.equal(false)
  })
})
