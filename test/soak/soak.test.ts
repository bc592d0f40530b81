import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { loadSqlite } from '../../src/system/sqlite.ts'
import { perSuite } from '../support/lifetime.ts'
import { inspected, type Memory, watchMemory } from '../support/live-memory.ts'
import { createRandom } from '../support/random.ts'
import { makeKey, runService, type ServiceProcess } from '../support/run-service.ts'
import { createSandbox } from '../support/sandbox.ts'

/** An hour by default. CI runs one minute. */
const minutes = Number(process.env['CHATCTL_SOAK_MINUTES'] ?? 60)

/**
 * Two processes with one data directory, mixed work, and clients that leave: nothing leaks and nothing is
 * lost.
 */
describe(`a service that runs for ${minutes} minutes`, () => {
  const sandbox = perSuite(createSandbox)
  let services: ServiceProcess[] = []
  after(() => {
    for (const { child } of services) child.kill('SIGKILL')
  })

  it('keeps its memory size, responds as expected, and stores everything that it acknowledged', async function () {
    this.timeout(minutes * 60_000 + 120_000)
    const start = () => runService(sandbox, [], { env: inspected })
    services = [await start(), await start()]
    const watches = await Promise.all(services.map((service) => watchMemory(service.log())))
    const key = await makeKey(sandbox, ['--tier', 'enterprise'])
    const clients = new Soak(services, key)
    await clients.raiseRateLimit()
    const end = Date.now() + minutes * 60_000
    const readings: Memory[][] = []
    const watching = (async () => {
      while (Date.now() < end) {
        await delay(Math.min(10_000, minutes * 2_000))
        readings.push(await Promise.all(watches.map((watch) => watch.measure())))
      }
    })()
    await Promise.all(Array.from({ length: 16 }, (_, seed) => clients.work(seed, end)))
    await watching
    expect(clients.oddities.length, clients.oddities.slice(0, 5).join('\n')).to.equal(0)
    for (const index of services.keys()) {
      expectNoGrowth('live', readings, index, 1.15)
      // Also has the buffers of password hashes in progress.
      expectNoGrowth('resident', readings, index, 1.5)
    }
    for (const watch of watches) watch.close()
    for (const service of services) await service.stop()
    expect(services.map(({ child }) => child.exitCode)).to.deep.equal([0, 0])

    const { DatabaseSync } = loadSqlite()
    const database = new DatabaseSync(join(sandbox.home, '.local/share/chatctl/chatctl.db'))
    expect(database.prepare('pragma integrity_check').get()).to.deep.include({ integrity_check: 'ok' })
    const stored = new Set(
      database
        .prepare('select id from messages')
        .all()
        .map((row) => row['id']),
    )
    expect([...clients.acknowledged].filter((id) => !stored.has(id))).to.deep.equal([])
    database.close()
    const last = readings.at(-1)?.map(({ live, resident }) => `${live} of ${resident}`)
    process.stdout.write(
      `      ${clients.count} requests; live and resident memory in MB at the end: ${last?.join(', ')}\n`,
    )
  })
})

/** @param most how many times as much the second half of the time may need as the first */
function expectNoGrowth(
  kind: keyof Memory,
  readings: readonly Memory[][],
  index: number,
  most: number,
): void {
  const sizes = readings.map((all) => all[index]?.[kind] ?? 0)
  const half = Math.max(...sizes.slice(0, Math.ceil(sizes.length / 2)))
  expect(Math.max(...sizes), `${kind} memory in MB: ${sizes.join(' ')}`).to.be.at.most(half * most)
}

class Soak {
  /** Ids of messages that the service acknowledged. */
  readonly acknowledged = new Set<string>()
  /** Unexpected responses. */
  readonly oddities: string[] = []
  count = 0
  readonly #services: readonly ServiceProcess[]
  readonly #key: string

  constructor(services: readonly ServiceProcess[], key: string) {
    this.#services = services
    this.#key = key
  }

  /** A fast machine sends more than the 60,000 requests in one minute that the service admits by default. */
  async raiseRateLimit(): Promise<void> {
    await this.#expect(200, 'PATCH', '/v1/settings', { limits: { max_requests_per_min: 100_000_000 } })
  }

  async work(seed: number, end: number): Promise<void> {
    const random = createRandom(seed)
    let contextId: string | undefined
    while (Date.now() < end) {
      const what = random()
      if (what < 0.3) contextId = await this.#send(what < 0.25 ? contextId : undefined)
      else if (what < 0.4)
        await this.#expect(200, 'GET', `/api/chat/history?limit=${1 + Math.floor(random() * 100)}`)
      else if (what < 0.5) await this.#expect(200, 'GET', '/v1/settings')
      else if (what < 0.55)
        await this.#expect(200, 'PATCH', '/v1/settings', { app_name: `Soak ${this.count}` })
      else if (what < 0.6) await this.#expect(201, 'POST', '/v1/users', newUser(`${seed}-${this.count}`))
      else if (what < 0.7) await this.#expect(400, 'POST', '/api/chat/send', { message: 7 })
      else if (what < 0.75) await this.#expect(404, 'GET', '/v1/users/usr_nobody')
      else if (what < 0.9) await this.#stream(random() < 0.5)
      else await this.#expect(200, 'POST', '/v1/chat/completions', completion)
    }
  }

  async #send(contextId: string | undefined): Promise<string> {
    const body = await this.#expect(200, 'POST', '/api/chat/send', {
      message: `Message ${this.count}`,
      // The model receives the whole conversation, so it must not grow for an hour.
      ...(contextId !== undefined && this.count % 20 !== 0 && { context_id: contextId }),
    })
    this.acknowledged.add(body.id)
    return body.context_id
  }

  async #stream(isLeft: boolean): Promise<void> {
    const controller = new AbortController()
    const response = await this.#fetch(
      'POST',
      '/api/chat/send',
      { message: 'Stream', stream: true },
      controller,
    )
    if (response.status !== 200) this.oddities.push(`stream: ${response.status}`)
    if (isLeft) {
      await response.body?.getReader().read()
      controller.abort()
      return
    }
    const text = await response.text()
    const done = /^event: done\ndata: (.*)$/m.exec(text)?.[1]
    if (done === undefined) this.oddities.push(`stream without done: ${text.slice(-200)}`)
    else this.acknowledged.add(JSON.parse(done).id)
  }

  // biome-ignore lint/suspicious/noExplicitAny: bodies of every shape
  async #expect(status: number, method: string, path: string, body?: object): Promise<any> {
    const response = await this.#fetch(method, path, body)
    const text = await response.text()
    if (response.status !== status) this.oddities.push(`${method} ${path}: ${response.status} ${text}`)
    return JSON.parse(text)
  }

  #fetch(method: string, path: string, body?: object, { signal } = new AbortController()): Promise<Response> {
    const service = this.#services[this.count++ % this.#services.length]
    return fetch(`${service?.url}${path}`, {
      method,
      signal,
      headers: { authorization: `Bearer ${this.#key}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
  }
}

const newUser = (name: string) => ({ email: `${name}@example.com`, password: 'correct horse battery', name })
const completion = { messages: [{ role: 'user', content: 'Hello' }] }
