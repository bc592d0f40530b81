import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import * as fc from 'fast-check'
import { RequestTurns } from '../../../src/service/http/listening/request-turns.ts'
import { startService } from '../../../src/service/start-service.ts'
import { openSqlite } from '../../../src/service/store/sqlite/open-sqlite.ts'
import { makeEmptyDirectory } from '../../support/empty-directory.ts'
import { forAllAsync } from '../../support/for-all.ts'
import { perTest } from '../../support/lifetime.ts'
import { SteppedClock } from '../../support/stepped-clock.ts'
import { plantKey } from '../domain/plant-key.ts'
import { caller } from '../temporary-service.ts'
import { readResponses } from './raw-request.ts'

/** Adds requests to turns, and records the order in which they start. */
class Queue {
  readonly started: string[] = []
  readonly #turns = new RequestTurns()

  /** Makes the key of a credential known. Its id is the credential. */
  know(...credentials: string[]): void {
    for (const credential of credentials) this.#turns.remember(requestWith(credential, credential))
  }

  add(credential: string, label = credential) {
    const request = requestWith(credential)
    this.#turns.wait(request, () => this.started.push(label))
    return request
  }
}

const requestWith = (authorization: string, keyId?: string) => ({
  headers: { authorization },
  isOver: false,
  ...(keyId !== undefined && { keyId }),
})

const repeat = (times: number, action: (index: number) => void) => {
  for (let index = 0; index < times; index++) action(index)
}

describe('the turns of requests', () => {
  it('start at most 32 requests in each turn of the event loop', async () => {
    const queue = new Queue()
    repeat(70, () => queue.add('one'))
    expect(queue.started).to.have.length(0)
    for (const length of [32, 64, 70]) {
      await nextTurn()
      expect(queue.started).to.have.length(length)
    }
  })

  it('start the request of a quiet key before the second one of a key that sent 1,000 earlier', async () => {
    const queue = new Queue()
    queue.know('noisy', 'quiet')
    repeat(1_000, () => queue.add('noisy'))
    queue.add('quiet')
    await nextTurn()
    expect(queue.started.indexOf('quiet')).to.equal(1)
    queue.add('quiet')
    await nextTurn()
    expect(queue.started.lastIndexOf('quiet')).to.equal(33)
  })

  it('treat all credentials that were not authenticated as one key', async () => {
    const queue = new Queue()
    queue.know('known')
    repeat(100, (index) => queue.add(`invented ${index}`))
    queue.add('known')
    await nextTurn()
    expect(queue.started.slice(0, 3)).to.deep.equal(['invented 0', 'known', 'invented 1'])
  })

  it('do not start a request whose client has disconnected, and start another one instead', async () => {
    const queue = new Queue()
    const requests: { isOver: boolean }[] = []
    repeat(64, (index) => requests.push(queue.add('one', String(index))))
    for (const request of requests.slice(0, 32)) request.isOver = true
    await nextTurn()
    expect(queue.started).to.deep.equal(Array.from({ length: 32 }, (_, index) => String(index + 32)))
  })

  it('start every request once, in the order of its key, and let no key wait for two of another', () =>
    forAllAsync(fc.array(fc.nat(4), { maxLength: 200 }), async (senders) => {
      const queue = new Queue()
      queue.know('0', '1', '2', '3', '4')
      senders.forEach((sender, index) => void queue.add(String(sender), `${sender} ${index}`))
      for (let turn = 0; turn <= senders.length / 32; turn++) await nextTurn()
      const expected = senders.map((sender, index) => `${sender} ${index}`)
      expect([...queue.started].sort()).to.deep.equal([...expected].sort())
      const startsOf = (sender: number) =>
        queue.started.flatMap((label, at) => (label.startsWith(`${sender} `) ? [{ label, at }] : []))
      for (const sender of new Set(senders)) {
        const own = startsOf(sender)
        expect(own.map(({ label }) => label)).to.deep.equal(
          expected.filter((label) => label.startsWith(`${sender} `)),
        )
        // All wait from the beginning, so between two starts of a key, each other key has at most one.
        own.slice(1).forEach(({ at }, index) => {
          const between = queue.started.slice((own[index]?.at ?? 0) + 1, at).map((label) => label[0])
          expect(new Set(between).size).to.equal(between.length)
        })
      }
    }))
})

/** How many requests the noisy key sends at the same time, without waiting for responses. */
const burst = 320

/** On how many connections it sends one request each. */
const connections = 200

describe('a service with a noisy key', () => {
  const data = perTest(makeEmptyDirectory)

  /** Runs a service with two keys, of which both have been used. */
  async function withTwoKeys(
    use: (running: { url: string; noisy: string; quiet: string; close(): Promise<void> }) => Promise<void>,
  ) {
    const store = openSqlite(data.path)
    const noisy = await plantKey(store.db, { id: 'key_noisy', hourly_limit: 1_000_000 })
    const quiet = await plantKey(store.db, { id: 'key_quiet', hourly_limit: 1_000_000 })
    await store.close()
    const service = await startService({ dataDir: data.path, clock: new SteppedClock() })
    try {
      for (const { key } of [noisy, quiet]) await caller(service.url, key)('GET', '/v1/settings')
      await use({ url: service.url, noisy: noisy.key, quiet: quiet.key, close: () => service.close() })
    } finally {
      await service.close()
    }
  }

  it('responds to another key before it has responded to all requests of the noisy one', () =>
    withTwoKeys(async ({ url, noisy, quiet }) => {
      const [loud, soft] = [await open(url), await open(url)]
      let [loudText, responsesBefore] = ['', -1]
      loud.on('data', (chunk) => {
        loudText += chunk
      })
      soft.on('data', () => {
        responsesBefore = loudText.split('HTTP/1.1 200').length - 1
      })
      loud.write(get(url, noisy).repeat(burst))
      soft.write(get(url, quiet))
      await once(soft, 'data')
      expect(responsesBefore).to.be.lessThan(burst / 2)
      while (loudText.split('HTTP/1.1 200').length - 1 < burst) await once(loud, 'data')
      for (const socket of [loud, soft]) socket.destroy()
    }))

  it('neither answers nor counts the waiting requests of a client that has disconnected', () =>
    withTwoKeys(async ({ url, noisy }) => {
      const sockets = await openUsed(url, noisy)
      const before = await remainingOf(url, noisy)
      for (const socket of sockets) socket.write(get(url, noisy))
      await Promise.race(sockets.map((socket) => once(socket, 'data')))
      for (const socket of sockets) socket.resetAndDestroy()
      expect(before - (await remainingOf(url, noisy))).to.be.within(32, connections / 2)
    }))

  it('responds to all waiting requests when it stops', () =>
    withTwoKeys(async ({ url, noisy, close }) => {
      const sockets = await openUsed(url, noisy)
      const texts = sockets.map(async (socket) => {
        let text = ''
        for await (const chunk of socket) text += chunk
        return text
      })
      for (const socket of sockets) socket.write(get(url, noisy))
      await Promise.race(sockets.map((socket) => once(socket, 'data')))
      await close()
      const statuses = (await Promise.all(texts)).map((text) =>
        readResponses(text).map(({ status }) => status),
      )
      expect(statuses).to.deep.equal(Array.from({ length: connections }, () => [200]))
    }))
})

async function open(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  return socket
}

/** Connections that the service has accepted, so that it reads what is written to all of them in one turn. */
async function openUsed(url: string, key: string): Promise<Socket[]> {
  const opening = Array.from({ length: connections }, async () => {
    const socket = await open(url)
    socket.write(get(url, key))
    await once(socket, 'data')
    return socket
  })
  return Promise.all(opening)
}

/** How many requests the key may still send in this hour. */
async function remainingOf(url: string, key: string): Promise<number> {
  const { headers } = await caller(url, key)('GET', '/v1/settings')
  return Number(/"hour";r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1])
}

const get = (url: string, key: string): string =>
  `GET /v1/settings HTTP/1.1\r\nhost: ${new URL(url).host}\r\nauthorization: Bearer ${key}\r\n\r\n`
