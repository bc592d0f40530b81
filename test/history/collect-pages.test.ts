import { rmSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { Client } from '../../src/client/client.ts'
import { beforeWalk } from '../../src/client/history/walk-history.ts'
import { Failure } from '../../src/contract/failure.ts'
import type { HistoryMessage } from '../../src/contract/resources/conversation.ts'
import { fetchHistory } from '../../src/history/fetch-history.ts'
import { PageStore } from '../../src/history/page-store.ts'
import { writeDocument } from '../../src/history/write-document.ts'
import { storeExchange } from '../../src/service/domain/chat/conversations.ts'
import { createId } from '../../src/service/domain/identifiers.ts'
import { startService } from '../../src/service/start-service.ts'
import { openStore } from '../../src/service/store/open-store.ts'
import { systemClock } from '../../src/system/clock.ts'
import { equip, withDirectory } from '../service/temporary-service.ts'
import { makeEmptyDirectory } from '../support/empty-directory.ts'
import {
  type HistoryReading,
  historyService,
  plainReading,
  type StoredMessage,
  storedAt,
} from '../support/handlers/history.ts'
import { perSuite, perTest } from '../support/lifetime.ts'
import { runChatctl, startChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import { hangUp, json, type Script, startScriptedServer } from '../support/scripted-server.ts'
import { exportEnvironment, idsOf, readLines, runExport } from './export-run.ts'
import { testResume } from './resume-suite.ts'
import { fetchRun } from './temporary-mirrors.ts'

/** Times in several notations, some of them equal, in ascending order of their numbers. */
const times: fc.Arbitrary<unknown>[] = [
  fc.nat(9).map((minute) => `2026-01-01T00:0${minute}:00Z`),
  fc.nat(9).map((minute) => `2026-01-01T01:0${minute}:00+01:00`),
  fc.nat(9).map((minute) => Date.UTC(2026, 0, 1, 0, minute)),
  fc.constantFrom('', 'yesterday', undefined),
]

const message: fc.Arbitrary<StoredMessage> = fc.record({
  id: fc.oneof({ weight: 20, arbitrary: fc.nat(40).map((id) => `m${id}`) }, fc.constantFrom('', undefined)),
  content: fc.constantFrom('yes', 'no'),
  role: fc.constantFrom('user', 'assistant'),
  created_at: fc.oneof(
    { weight: 20, arbitrary: times[0] as fc.Arbitrary<unknown> },
    ...(times.slice(1) as fc.Arbitrary<unknown>[]),
  ),
}) as fc.Arbitrary<StoredMessage>

const histories: fc.Arbitrary<StoredMessage[]> = fc.oneof(
  fc
    .array(fc.integer({ min: 1, max: 9 }), { maxLength: 9 })
    .map((sizes) => storedAt(sizes.flatMap((size, minute) => Array<number>(size).fill(minute)))),
  fc.array(message, { maxLength: 40 }),
  fc
    .array(message, { maxLength: 40 })
    .map((all) => all.toSorted((one, other) => (String(one.created_at) < String(other.created_at) ? -1 : 1))),
)

const readings: fc.Arbitrary<HistoryReading> = fc.record({
  order: fc.constantFrom('oldest', 'newest'),
  cursor: fc.constantFrom('id', 'created_at'),
  before: fc.constantFrom('row', 'row itself', 'time', 'time itself'),
  unknown: fc.constantFrom<HistoryReading['unknown']>('same', 'empty', 'nothing', 400),
  hasMore: fc.constantFrom('exact', 'when full', 'missing'),
  largest: fc.integer({ min: 1, max: 8 }),
  limit: fc.constantFrom('taken', 'ignored', 'refused'),
})

describe('the pages of an export', function () {
  this.timeout(120_000)
  const runs = { numRuns: 0.3 * (fc.readConfigureGlobal().numRuns ?? 100) }
  const directory = perTest(makeEmptyDirectory)
  let script: Extract<Script, { choose: unknown }>
  const server = perSuite(() =>
    startScriptedServer({ choose: (request, index) => script.choose(request, index) }),
  )

  /** The messages of each page, and the kind of the failure. */
  async function read(service: typeof script, pages: (client: Client) => Promise<HistoryMessage[][]>) {
    const first = server.requests.length
    script = { choose: (request, index) => service.choose(request, index - first) }
    const client = new Client({ baseUrl: server.url, retries: 0 })
    try {
      return { pages: await pages(client), requests: server.requests.length - first }
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      return { failure: error.message, requests: server.requests.length - first }
    } finally {
      await client.close()
    }
  }

  async function walk(client: Client): Promise<HistoryMessage[][]> {
    const pages: HistoryMessage[][] = []
    for await (const { messages } of client.history.pages({ limit: 100 })) pages.push([...messages])
    return pages
  }

  async function collectInto(store: PageStore, client: Client): Promise<void> {
    await fetchHistory(fetchRun(client), store)
  }

  async function collect(client: Client): Promise<HistoryMessage[][]> {
    const store = new PageStore(join(directory.path, 'pages'), systemClock)
    try {
      await collectInto(store, client)
      return store.pages.map((page) =>
        store
          .read(page)
          .toString('utf8')
          .split('\n')
          .slice(0, -1)
          .map((line) => JSON.parse(line)),
      )
    } finally {
      store.restart()
      store.close()
    }
  }

  it('contain no message twice if the first page is repeated before the second shows its order', async () => {
    const stored = storedAt([0, 0])
    const service = historyService(
      { ...plainReading, unknown: 'same', hasMore: 'missing', largest: 2 },
      stored,
    )
    const { pages } = await read(service, collect)
    expect(pages?.reverse().flat()).to.deep.equal(stored)
  })

  it('are those of a walk that compares all keys, for a service of any kind', async () => {
    await fc.assert(
      fc.asyncProperty(readings, histories, async (reading, stored) => {
        const service = historyService(reading, stored)
        const expected = await read(service, walk)
        expect(await read(service, collect)).to.deep.equal(JSON.parse(JSON.stringify(expected)))
      }),
      runs,
    )
  })

  it('are those of a walk that compares all keys, if pages come in any order', async () => {
    const page = fc.array(message, { maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(fc.array(page, { minLength: 1, maxLength: 12 }), async (all) => {
        const service: typeof script = {
          choose: (_, index) => json(200, { messages: all[index] ?? [], has_more: index < all.length - 1 }),
        }
        const expected = await read(service, walk)
        expect(await read(service, collect)).to.deep.equal(JSON.parse(JSON.stringify(expected)))
      }),
      runs,
    )
  })

  it('have each message once, in the order of time, if runs end after any request and their file is truncated', async () => {
    const ends = fc.array(fc.record({ requests: fc.nat(6), cut: fc.nat(400), added: fc.nat(3) }), {
      maxLength: 4,
    })
    const seconds = fc
      .array(fc.integer({ min: -60, max: 2400 }), { maxLength: 9 })
      .map((all) => all.toSorted((one, other) => one - other))
    await fc.assert(
      fc.asyncProperty(
        readings,
        fc.integer({ min: 3, max: 30 }),
        ends,
        seconds,
        async (reading, count, all, own) => {
          const local = own.map((second) => ({
            content: 'own',
            created_at: new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString(),
          }))
          const stored = storedAt(Array.from({ length: count }, (_, index) => index))
          const service = historyService({ ...reading, largest: Math.max(3, reading.largest) }, stored)
          const file = join(directory.path, 'pages')
          // Of a case that failed.
          rmSync(file, { force: true })
          for (const { requests, cut, added } of all) {
            const store = new PageStore(file, systemClock)
            const broken: typeof script = {
              choose: (request, index) => (index < requests ? service.choose(request, index) : hangUp),
            }
            await read(broken, async (client) => collectInto(store, client).then(() => []))
            store.keep()
            truncateSync(file, Math.max(0, statSync(file).size - cut))
            const next = stored.length
            stored.push(...storedAt(Array.from({ length: next + added }, (_, index) => index)).slice(next))
          }
          const store = new PageStore(file, systemClock)
          const { failure } = await read(service, async (client) => collectInto(store, client).then(() => []))
          expect(failure).to.equal(undefined)
          const chunks: Buffer[] = []
          await writeDocument({
            format: 'jsonl',
            store,
            local,
            context: undefined,
            since: undefined,
            write: async (bytes) => {
              chunks.push(Buffer.from(bytes))
            },
            signal: new AbortController().signal,
          })
          store.close()
          expect(readLines(Buffer.concat(chunks).toString())).to.deep.equal(
            [...stored, ...local].toSorted((a, b) => (String(a.created_at) < String(b.created_at) ? -1 : 1)),
          )
        },
      ),
      runs,
    )
  })
})

describe('a history with messages so long that they fill a page before its limit', () => {
  it('is exported completely, and listed page by page', () =>
    withDirectory(async (dataDir) => {
      const store = await openStore({ dataDir })
      const stored: string[] = []
      for (let exchange = 0; exchange < 6; exchange++) {
        const [messageId, answerId] = [createId('msg'), createId('msg')]
        const at = new Date(Date.UTC(2026, 0, 1) + exchange * 60_000).toISOString()
        await storeExchange(store.db, {
          ...{
            userId: 'usr_admin',
            contextId: createId('ctx'),
            isNewContext: true,
            messageId,
            replyId: answerId,
          },
          ...{ message: 'm'.repeat(1_000_000), reply: 'ok', model: 'm' },
          ...{ incomplete: false, finishReason: 'stop', sentAt: at, createdAt: at },
        })
        stored.push(messageId, answerId)
      }
      await store.close()
      const service = equip(await startService({ dataDir }))
      using sandbox = createSandbox()
      const env = { CHATCTL_BASE_URL: service.url, CHATCTL_API_KEY: service.key }
      const exported = await runExport(sandbox, service.url, [], { env })
      expect(exported.exitCode, exported.stderr).to.equal(0)
      expect(idsOf(readLines(exported.stdout))).to.deep.equal(stored)
      expect(exported.stderr).to.equal('12 messages: 12 from the service, 0 from this machine\n')
      const listed: (string | undefined)[] = []
      for (let hasMore = true; hasMore; ) {
        const before = listed[0] === undefined ? [] : ['--before', listed[0]]
        const list = ['history', 'list', '-n', '100', '--json', ...before]
        const page = JSON.parse((await runChatctl(sandbox, list, { env })).stdout)
        listed.unshift(...idsOf(page.messages))
        hasMore = page.has_more
      }
      expect(listed).to.deep.equal(stored)
      await service.close()
    }))
})

const page = storedAt([1, 2, 3]).toReversed()

describe('history list, if the service returns the newest message first', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(startScriptedServer)

  async function list(messages: unknown[], ...args: string[]) {
    await server.serve(json(200, { messages, has_more: true }))
    return runChatctl(sandbox, ['history', 'list', ...args], { env: exportEnvironment(server.url) })
  }

  it('prints the oldest message first, and the command for older messages', async () => {
    const { stdout, stderr } = await list(page, '--context', "it's", '--before=m9', '-n', '3')
    expect(stdout.match(/^m\d/gm)).to.deep.equal(['m0', 'm1', 'm2'])
    expect(stderr).to.equal('There is more: chatctl history list --context "it\'s" -n 3 --before m0\n')
  })

  it('follows the IDs if the clock of the service was set back', async () => {
    const stored = storedAt([9, 9, 9, 1, 1, 1])
    for (const sent of [stored, stored.toReversed()])
      expect((await list(sent)).stdout.match(/^m\d/gm)).to.deep.equal(stored.map(({ id }) => id))
  })

  it('prints JSON as the service returned it', async () => {
    const { stdout } = await list(page, '--json')
    expect(JSON.parse(stdout).messages).to.deep.equal(page)
  })

  it('pages by time if messages have no ID, and says so if they have no time either', async () => {
    const withoutIds = page.map(({ id: _, ...rest }) => rest)
    expect((await list(withoutIds)).stderr).to.contain(`--before ${page[2]?.created_at}\n`)
    await server.close()
    expect((await list([{ content: 'x', role: 'user' }])).stderr).to.contain('no message has an id or a time')
  })
})

const keptMessages = /^\d+ messages saved\. To resume, run the same command\.$/m

testResume(
  'history export, after Ctrl-C',
  (sandbox, url) => {
    const running = startChatctl(sandbox, ['history', 'export'], { env: exportEnvironment(url) })
    const ended = running.ended.then(({ exitCode, stderr }) => {
      expect(stderr).to.match(keptMessages)
      return exitCode
    })
    return { end: () => running.interrupt(), ended }
  },
  130,
  [2, 9],
)

describe('a resumed export', () => {
  it('counts the messages that it writes, without earlier ones before --since', async () => {
    const sandbox = createSandbox()
    const store = new PageStore(join(sandbox.home, 'pages'), systemClock)
    store.append(0, { messages: storedAt([0, 1, 2]) as HistoryMessage[], position: beforeWalk })
    store.endPart(0, 'ended')
    const written = await writeDocument({
      format: 'jsonl',
      store,
      local: [],
      context: undefined,
      since: Date.UTC(2026, 0, 1, 0, 2),
      write: async () => {},
      signal: new AbortController().signal,
    })
    store.close()
    sandbox.remove()
    expect(written).to.deep.equal({ service: 1, local: 0 })
  })
})
