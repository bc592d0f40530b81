import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { caller, onEachEngine } from '../../service/temporary-service.ts'
import { sharedPostgres } from '../../support/postgres.ts'
import { runProgram } from '../../support/run-program.ts'
import { makeKey, runService, type ServiceProcess } from '../../support/run-service.ts'
import { createSandbox, type Sandbox } from '../../support/sandbox.ts'
import { load, withinOneHour } from './load.ts'

let sandbox: Sandbox
let where: string[]
let running: ServiceProcess[]
const open = () => {
  sandbox = createSandbox()
  where = ['--data', join(sandbox.home, 'data')]
  running = []
}
const close = async () => {
  await Promise.all(running.map((service) => service.stop()))
  sandbox.remove()
}
const start = async (count: number) => {
  const started = await Promise.all(Array.from({ length: count }, () => runService(sandbox, where)))
  running.push(...started)
  return started
}

onEachEngine('rate limits of several processes with the same data', (_, engine) => {
  let database: string | undefined
  beforeEach(async () => {
    open()
    if (engine === 'sqlite') return
    database = await (await sharedPostgres()).createDatabase()
    where.push('--database', database)
  })
  afterEach(async () => {
    await close()
    if (database !== undefined) await (await sharedPostgres()).dropDatabase(database)
  })
  it('admit exactly the limit over any number of connections, also after a restart', () =>
    withinOneHour(async () => {
      const limit = 1_003
      const key = await makeKey(sandbox, [...where, '--tier', 'enterprise', '--limit', String(limit)])
      const services = await start(4)
      const results = await Promise.all(services.map(({ url }) => load(url, key, 500, 16)))
      expect(results.reduce((total, { admitted }) => total + admitted, 0)).to.equal(limit)
      await Promise.all(running.splice(0).map((service) => service.stop()))
      const [again] = await start(1)
      expect(await load(again?.url ?? '', key, 20, 4)).to.deep.equal({ admitted: 0, refused: 20 })
    }))

  it('include the requests to a process that was killed', () =>
    withinOneHour(async () => {
      const key = await makeKey(sandbox, [...where, '--tier', 'enterprise', '--limit', '100'])
      const [first, second] = await start(2)
      expect(await load(first?.url ?? '', key, 60, 8)).to.include({ admitted: 60 })
      first?.child.kill('SIGKILL')
      expect(await load(second?.url ?? '', key, 60, 8)).to.include({ admitted: 40, refused: 20 })
    }))

  it('follow a change in another process within a second', async () => {
    const key = await makeKey(sandbox, [...where, '--tier', 'pro'])
    const [first, second] = await start(2)
    const [here, there] = [caller(first?.url ?? '', key), caller(second?.url ?? '', key)]
    const origin = { origin: 'https://a.example' }
    const before = await there('GET', '/v1/settings', undefined, origin)
    expect(before.headers.get('ratelimit-policy')).to.include('"minute";q=60000')
    expect(before.headers.has('access-control-allow-origin')).to.equal(false)
    await here('PATCH', '/v1/settings', { limits: { max_requests_per_min: 500 }, app_name: 'Everywhere' })
    await here('POST', '/v1/settings/api', {
      rate_limiting: { enabled: true, requests_per_minute: 400 },
      cors: { allowed_origins: ['https://a.example'] },
    })
    // In the same process immediately, and in the other within a second.
    expect((await here('GET', '/v1/settings')).headers.get('ratelimit-policy')).to.include('"minute";q=400')
    await sleep(1_000)
    const after = await there('GET', '/v1/settings', undefined, origin)
    expect(after.headers.get('ratelimit-policy')).to.include('"minute";q=400')
    expect(after.headers.get('access-control-allow-origin')).to.equal('https://a.example')
    expect(after.body.app_name).to.equal('Everywhere')
    await there('PATCH', '/v1/settings', { features: { chat: false } })
    await sleep(1_000)
    expect((await here('POST', '/api/chat/send', { message: 'x' })).body.error.code).to.equal(
      'feature_disabled',
    )
  })
})

describe('rate limits of a running service', () => {
  beforeEach(open)
  afterEach(close)

  it('do not apply to the profile local, so that they cannot lock out the machine itself', async () => {
    const key = await makeKey(sandbox)
    where = []
    const [service] = await start(1)
    const call = caller(service?.url ?? '', key)
    await call('PATCH', '/v1/settings', { limits: { max_requests_per_min: 1 } })
    const statuses = [(await call('GET', '/v1/settings')).status, (await call('GET', '/v1/settings')).status]
    expect(statuses).to.include(429)
    const args = ['settings', 'set', 'limits.max_requests_per_min=60000', '--profile', 'local']
    const { exitCode, stderr } = await runProgram(sandbox, args)
    expect(exitCode, stderr).to.equal(0)
    expect((await call('GET', '/v1/settings')).status).to.equal(200)
  })
})
