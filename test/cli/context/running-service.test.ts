import { once } from 'node:events'
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect } from 'chai'
import type { BaseContext } from '../../../src/cli/context/base-context.ts'
import { EmbeddedService } from '../../../src/cli/context/embedded-service.ts'
import { findJoinableService } from '../../../src/service/find-joinable-service.ts'
import { challengeHeader, proofHeader, proveRun } from '../../../src/service/run-proof.ts'
import { startService } from '../../../src/service/start-service.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { Directories } from '../../../src/system/files/directories.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { json, startFaultServer } from '../../support/fault-server.ts'
import { perTest } from '../../support/lifetime.ts'
import { startModelServer } from '../../support/model-server.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { makeKey, serveInProcess } from '../../support/run-service.ts'
import { createSandbox } from '../../support/sandbox.ts'

describe('a service that runs on the data of local', () => {
  const sandbox = perTest(createSandbox)
  const run = (args: readonly string[], env: NodeJS.ProcessEnv = {}) => runChatctl(sandbox, args, { env })
  const data = () => join(sandbox.home, '.local', 'share', 'chatctl')
  const record = () => {
    const [name = ''] = readdirSync(data()).filter((file) => file.startsWith('running-'))
    return join(data(), name)
  }
  const plantRecord = (url: string, pid = process.pid) => {
    mkdirSync(data(), { recursive: true, mode: 0o700 })
    const written = { url, pid, place: join(data(), 'chatctl.db'), key: 'ck_canary', upstream: null }
    writeFileSync(join(data(), `running-${pid}.json`), JSON.stringify(written))
  }
  /** Ends after its first response, which proves its key. Returns its requests. */
  const plantEndingService = async () => {
    const requests: string[] = []
    const ending = createServer(({ method, url, headers }, response) => {
      requests.push(`${method} ${url}`)
      const proof = proveRun('ck_canary', headers[challengeHeader]) ?? ''
      response.writeHead(200, { [proofHeader]: proof, connection: 'close' }).end('{}')
      ending.close()
    })
    await once(ending.listen(0, '127.0.0.1'), 'listening')
    plantRecord(`http://127.0.0.1:${(ending.address() as AddressInfo).port}`)
    return requests
  }
  const answering = (stderr: string) => /^\* The embedded service (.*)$/m.exec(stderr)?.[1]

  it('answers in place of a new one, with its upstream', async () => {
    const server = await startModelServer()
    const service = await serveInProcess(sandbox, ['--upstream', server.url])
    const { stdout, stderr } = await run(['chat', 'send', 'hi', '--debug'])
    expect(stdout).to.equal('I am m1.\n')
    expect(answering(stderr)).to.equal(
      `runs at ${service.url}, pid ${process.pid}, with the model server ${server.url}`,
    )
    expect(stderr).to.include(`POST ${service.url}/api/chat/send`)
    await service.stop()
    await server.close()
  })

  it('is ready for service status --ready, unless it does not run or responds otherwise', async () => {
    const status = ['service', 'status', '--ready']
    expectFailure(await run(status), 69, `No service runs on ${join(data(), 'chatctl.db')}`)
    expect(existsSync(data())).to.equal(false)
    const service = await serveInProcess(sandbox)
    expect(await run(status)).to.include({ exitCode: 0, stdout: `${service.url}\n`, stderr: '' })
    expect(JSON.parse((await run([...status, '--json'])).stdout)).to.include({ health: 'ready' })
    await service.stop()
    const error = { error: { code: 'storage_unavailable', message: 'down' } }
    const failing = await startFaultServer(json(503, error))
    plantRecord(failing.url, 1)
    expectFailure(await run(status), 69, `${failing.url} is not ready: storage_unavailable`)
    const next = await serveInProcess(sandbox)
    expect(await run(status)).to.include({ exitCode: 0, stdout: `${next.url}\n` })
    await next.stop()
    await failing.close()
  })

  it('answers requests that change something, which the audit log attributes to the same admin', async () => {
    const service = await serveInProcess(sandbox)
    const changed = await run(['settings', 'set', 'app_name=Joined', '--profile', 'local', '--debug'])
    expect(changed.exitCode).to.equal(0)
    expect(answering(changed.stderr)).to.include(service.url)
    expect((await run(['settings', 'get', '--jq', '.app_name'])).stdout).to.equal('Joined\n')
    await service.stop()
  })

  it('is not used if the environment chooses another upstream for this run', async () => {
    const server = await startModelServer()
    const service = await serveInProcess(sandbox)
    const { stdout, stderr } = await run(['chat', 'send', 'hi', '--debug'], { CHATCTL_UPSTREAM: server.url })
    expect(stdout).to.equal('I am m1.\n')
    expect(answering(stderr)).to.match(/^runs in this process/)
    const same = await run(['chat', 'models', '--debug'], { CHATCTL_UPSTREAM: 'none' })
    expect(answering(same.stderr)).to.include(service.url)
    await service.stop()
    await server.close()
  })

  it('of any version is used, because all have the same interface', async () => {
    const service = await serveInProcess(sandbox)
    const written = JSON.parse(readFileSync(record(), 'utf8'))
    writeFileSync(record(), JSON.stringify({ ...written, version: '0.0.1' }))
    const { stderr } = await run(['chat', 'models', '--debug'])
    expect(answering(stderr)).to.include(service.url)
    await service.stop()
  })

  it('of a version that wrote no key into its record is not used', async () => {
    const service = await serveInProcess(sandbox)
    const { key: _, ...written } = JSON.parse(readFileSync(record(), 'utf8'))
    writeFileSync(record(), JSON.stringify(written))
    const { stderr } = await run(['chat', 'models', '--debug'])
    expect(answering(stderr)).to.match(/^runs in this process/)
    await service.stop()
  })

  it('has its key in a private file, and nowhere else', async () => {
    const service = await serveInProcess(sandbox)
    const { key } = JSON.parse(readFileSync(record(), 'utf8'))
    expect(key).to.match(/^ck_/)
    expect(statSync(record()).mode & 0o777).to.equal(0o600)
    const runs = [
      await run(['service', 'status', '--json']),
      await run(['chat', 'send', 'hi', '--debug']),
      await run(['doctor', '--json', '--debug']),
    ]
    for (const { stdout, stderr } of runs) expect(stdout + stderr).not.to.include(key)
    expect(service.log()).not.to.include(key)
    await service.stop()
  })

  it('writes no key into the record for the default directory, if its data is elsewhere', async () => {
    const service = await serveInProcess(sandbox, ['--data', join(sandbox.home, 'other')])
    const [name = ''] = readdirSync(data())
    expect(name).to.match(/^elsewhere-/)
    expect(JSON.parse(readFileSync(join(data(), name), 'utf8')).key).to.equal(null)
    expect(await findJoinableService(data())).to.equal(undefined)
    await service.stop()
  })

  it('that has ended leaves a record whose port, now of another program, receives only a challenge', async () => {
    const other = await startFaultServer({ choose: () => json(200, { status: 'ready' }) })
    plantRecord(other.url)
    const { stdout } = await run(['chat', 'send', 'a secret'])
    expect(stdout).to.include('test program')
    expect(other.requests.map(({ method, path }) => `${method} ${path}`)).to.deep.equal(['GET /readyz'])
    expect(JSON.stringify(other.requests)).not.to.match(/ck_canary|a secret/)
    await other.close()
  })

  it('that ends after its proof is replaced by one in this process, and its port receives nothing', async () => {
    const requests = await plantEndingService()
    const { stdout, stderr } = await run(['chat', 'send', 'hi', '--debug'])
    expect(stdout).to.include('test program')
    expect(stderr)
      .to.include('connection refused, retrying')
      .and.to.match(/runs in this process/)
    expect(requests).to.deep.equal(['GET /readyz'])
  })

  it('that ends after its proof is an error without retries, which says what to do', async () => {
    await plantEndingService()
    const failed = await run(['chat', 'send', 'hi', '--retries', '0'])
    expectFailure(failed, 69, 'connection refused', 'The service has ended. Run the command again.')
  })

  it('of another user is not used', async function () {
    if (process.getuid?.() !== 0) return this.skip()
    const service = await serveInProcess(sandbox)
    chownSync(record(), 65_534, 65_534)
    const { stderr } = await run(['chat', 'models', '--debug'])
    expect(answering(stderr)).to.match(/^runs in this process/)
    await service.stop()
  })

  it('with a key of the same service as the key of the record does not prove anything else', async () => {
    const service = await serveInProcess(sandbox)
    const written = JSON.parse(readFileSync(record(), 'utf8'))
    writeFileSync(record(), JSON.stringify({ ...written, key: await makeKey(sandbox) }))
    expect(await findJoinableService(data())).to.equal(undefined)
    await service.stop()
  })

  it('that ends between two requests of a run is replaced by one in this process', async () => {
    const service = await startService({ dataDir: data(), announce: {} })
    const atEnd: (() => unknown)[] = []
    const base = {
      directories: new Directories(sandbox.env),
      configuration: {},
      env: {},
      resolvePath: (name: string) => name,
      host: { env: {}, clock: systemClock },
      output: { notice: () => {} },
      onClose: (work: () => unknown) => atEnd.push(work),
    }
    const embedded = new EmbeddedService(base as unknown as BaseContext)
    expect((await embedded.next()).url).to.equal(service.url)
    expect((await embedded.next()).url).to.equal(service.url)
    await service.close()
    const own = await embedded.next()
    expect([own.running, typeof own.handle]).to.deep.equal([undefined, 'function'])
    expect(embedded.answering).to.equal(own)
    for (const work of atEnd) await work()
  })

  it('is named by config set, because it must be restarted to use another upstream', async () => {
    const service = await serveInProcess(sandbox)
    const { stderr } = await run(['config', 'set', 'upstream=ollama'])
    expect(stderr).to.include(`The service at ${service.url} (pid ${process.pid}) still replies with`)
    const { stdout } = await run(['chat', 'send', 'hi'])
    expect(stdout).to.include('run the service with a model server: chatctl service run --upstream ollama\n')
    await service.stop()
  })

  it('is named by config unset, because it keeps its upstream', async () => {
    const server = await startModelServer()
    await run(['config', 'set', 'upstream', server.url])
    const service = await serveInProcess(sandbox)
    const { stderr } = await run(['config', 'unset', 'upstream'])
    expect(stderr).to.include(`still replies with the model server ${server.url}. Restart it`)
    await service.stop()
    await server.close()
  })
})
