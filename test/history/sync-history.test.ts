import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { digestOf } from '../../src/client/history/message-keys.ts'
import { Failure } from '../../src/contract/failure.ts'
import { mirrorsDirectory } from '../../src/history/mirror.ts'
import type { Run } from '../../src/run/run.ts'
import { tryProcessLock } from '../../src/system/files/process-lock.ts'
import {
  historyService,
  plainReading,
  readings,
  type StoredMessage,
  storedAt,
} from '../support/handlers/history.ts'
import { perSuite, perTest } from '../support/lifetime.ts'
import { failing, type RecordedRequest, startScriptedServer } from '../support/scripted-server.ts'
import { asStored, createMirrors, messagesIn, syncFrom } from './temporary-mirrors.ts'

/**
 * By how many minutes the clock of the process that stored a message was ahead, repeated: processes whose clocks
 * differ, or a clock that is set back.
 */
const clocks = fc.oneof(
  fc.array(fc.nat({ max: 90 }), { minLength: 1, maxLength: 9 }),
  fc.nat({ max: 30 }).map((at) => [...Array<number>(at).fill(50), ...Array<number>(99).fill(0)]),
)

/** What happens, one after the other: so many messages arrive, and a sync fails after so many requests. */
const events = fc.array(
  fc.record({ arrive: fc.integer({ min: 0, max: 12 }), requests: fc.integer({ min: 1, max: 6 }) }),
  { minLength: 1, maxLength: 4 },
)

describe('history sync', function () {
  this.timeout(120_000)
  let stored: StoredMessage[] = []
  let reading = plainReading
  let allowed = Number.POSITIVE_INFINITY
  const server = perSuite(() =>
    startScriptedServer({
      choose: (request: RecordedRequest, index) =>
        allowed-- > 0
          ? historyService(reading, stored).choose(request, index)
          : failing(403, 'forbidden', 'No more'),
    }),
  )
  const mirrors = perTest(createMirrors)
  beforeEach(() => {
    stored = []
    reading = plainReading
    allowed = Number.POSITIVE_INFINITY
  })

  function addMessages(count: number): void {
    stored = storedAt(Array.from({ length: stored.length + count }, (_, minute) => minute))
  }

  const sync = (options: Parameters<typeof syncFrom>[2] = {}) =>
    syncFrom(server.url, mirrors.directories, options)

  /** Checks that a sync has everything, after earlier ones were interrupted. */
  async function expectAll(happenings: { arrive: number; requests: number }[], add: (count: number) => void) {
    const own = createMirrors()
    stored = []
    try {
      for (const { arrive, requests } of happenings) {
        add(arrive)
        allowed = requests
        await syncFrom(server.url, own.directories).catch((error) => {
          if (allowed > 0) throw error
        })
      }
      allowed = Number.POSITIVE_INFINITY
      const { path, facts } = await syncFrom(server.url, own.directories)
      expect(messagesIn(path)).to.deep.equal(asStored(stored))
      expect(facts.messages).to.equal(stored.length)
      expect(facts.isIncomplete).to.equal(false)
    } finally {
      own.remove()
    }
  }

  it('has each message once, for any service, however often it is interrupted while messages arrive', async () => {
    await fc.assert(
      fc.asyncProperty(readings, events, async (chosen, happenings) => {
        reading = chosen
        await expectAll(happenings, addMessages)
      }),
      { numRuns: 0.2 * (fc.readConfigureGlobal().numRuns ?? 100) },
    )
  })

  it('has each message once, whatever the clocks say, if the service has them in the order in which it stored them', async () => {
    const rows = fc.constantFrom<(typeof reading)['before']>('row', 'row itself')
    const property = fc.asyncProperty(
      fc.record({
        chosen: readings,
        before: rows,
        happenings: events,
        ahead: clocks,
        isRandom: fc.boolean(),
      }),
      async ({ chosen, before, happenings, ahead, isRandom }) => {
        reading = { ...chosen, cursor: 'id', before }
        await expectAll(happenings, (count) => {
          const indexes = Array.from({ length: stored.length + count }, (_, index) => index)
          stored = storedAt(indexes.map((index) => index + (ahead[index % ahead.length] ?? 0)))
          if (isRandom) stored = stored.map((message) => ({ ...message, id: digestOf([String(message.id)]) }))
        })
      },
    )
    await fc.assert(property, { numRuns: 0.2 * (fc.readConfigureGlobal().numRuns ?? 100) })
  })

  for (const order of ['oldest', 'newest'] as const) {
    it(`finds new messages after the clock was set back, in pages with the ${order} first`, async () => {
      reading = { ...plainReading, largest: 10, order }
      const minutes = Array.from({ length: 30 }, (_, index) => 100 + index)
      stored = storedAt(minutes)
      await sync()
      stored = storedAt([...minutes, 1, 2, 3, 4])
      expect(await sync()).to.include({ added: 4 })
      stored = storedAt([...minutes, 1, 2, 3, 4, ...minutes.slice(0, 20)])
      expect(await sync()).to.include({ added: 20 })
      expect(await sync()).to.include({ added: 0 })
    })
  }

  it('requests only the first page if there is nothing new', async () => {
    reading = { ...plainReading, largest: 10 }
    addMessages(60)
    await sync()
    const before = server.requests.length
    addMessages(3)
    const { added, facts } = await sync()
    expect(added).to.equal(3)
    expect(facts.messages).to.equal(63)
    expect(server.requests.length - before).to.equal(1)
  })

  it('continues an interrupted sync where it stopped', async () => {
    reading = { ...plainReading, largest: 10 }
    addMessages(100)
    allowed = 6
    const said: string[] = []
    await expectRejection(sync({ said }), { kind: 'forbidden' })
    expect(said.splice(0)).to.deep.equal(['The mirror has 55 messages. To continue, run the same command.'])
    addMessages(5)
    allowed = Number.POSITIVE_INFINITY
    const before = server.requests.length
    const { path } = await sync({ said })
    expect(said).to.deep.equal(['Resuming an interrupted sync. The mirror has 55 messages.'])
    // One for the new messages, and one for each page of nine and a repeated one.
    expect(server.requests.length - before).to.equal(6)
    expect(messagesIn(path)).to.deep.equal(asStored(stored))
  })

  it('fetches everything again if the service no longer knows the position', async () => {
    reading = { ...plainReading, largest: 10 }
    addMessages(100)
    allowed = 3
    await sync().catch(() => {})
    allowed = Number.POSITIVE_INFINITY
    stored = stored.filter(({ id }) => id !== 'm72' && id !== 'm73')
    reading = { ...reading, unknown: 400 }
    const said: string[] = []
    const { path } = await sync({ said })
    expect(said.at(-1)).to.include('Fetching all messages again.')
    // The mirror keeps what the service no longer has.
    expect(messagesIn(path)).to.have.lengthOf(100)
  })

  it('with a full sync, updates changed messages and removes deleted ones', async () => {
    reading = { ...plainReading, largest: 10 }
    addMessages(40)
    await sync()
    stored = stored.filter(({ id }) => id !== 'm7')
    ;(stored[3] as StoredMessage).content = 'edited'
    const said: string[] = []
    const { path, removed, added } = await sync({ isFull: true, said })
    expect({ added, removed, said }).to.deep.equal({ added: 0, removed: 1, said: [] })
    expect(messagesIn(path)).to.deep.equal(asStored(stored))
  })

  it('with a full sync, leaves no text of a changed or deleted message in the file', async () => {
    addMessages(200)
    for (const [index, message] of stored.entries()) message.content = `words of ${index} `.repeat(index)
    const [first, second, last] = [stored[3], stored[90], stored[199]] as StoredMessage[]
    for (const message of [first, second, last]) (message as StoredMessage).content += ` canary${message?.id}`
    await sync()
    const { path: before } = await sync()
    expect(readFileSync(before, 'latin1').match(/canary/g)).to.have.lengthOf.at.least(4)
    stored = stored.filter((message) => message !== second && message !== last)
    ;(first as StoredMessage).content = 'edited'
    const { path, removed } = await sync({ isFull: true })
    expect(removed).to.equal(2)
    expect(readFileSync(path, 'latin1')).not.to.include('canary')
    expect(messagesIn(path)).to.deep.equal(asStored(stored))
  })

  it('creates private files', async () => {
    addMessages(3)
    const { path } = await sync()
    expect(statSync(path).mode & 0o777).to.equal(0o600)
    expect(statSync(mirrorsDirectory(mirrors.directories)).mode & 0o777).to.equal(0o700)
  })

  it('refuses to run twice at the same time', async () => {
    const { path } = await sync()
    const release = tryProcessLock(path.replace(/db$/, 'lock'))
    await expectRejection(sync(), { kind: 'conflict', message: /Another chatctl process is syncing/ })
    release?.()
    await sync()
  })

  it('refuses a mirror of another user', async () => {
    addMessages(3)
    const runOf = (user: string | undefined, confirm: Run['confirm']) => ({ user: async () => user, confirm })
    const refuse: Run['confirm'] = async (_, refusal) => Promise.reject(refusal)
    const { path } = await sync(runOf('u1', refuse))
    const before = messagesIn(path)
    await expectRejection(sync(runOf('u2', refuse)), { kind: 'conflict', message: /of the user u1/ })
    expect(messagesIn(path)).to.deep.equal(before)
    await sync(runOf(undefined, refuse))
    stored = stored.slice(0, 1)
    const { facts } = await sync(runOf('u2', async () => {}))
    expect(facts).to.include({ userId: 'u2', messages: 1 })
    expect(messagesIn(path)).to.have.lengthOf(1)
  })

  it('reports a directory that cannot be used', async () => {
    writeFileSync(join(mirrors.home, '.local'), '')
    await expectRejection(sync(), { kind: 'storage' })
  })
})

async function expectRejection(
  work: Promise<unknown>,
  { kind, message = /./ }: { kind: string; message?: RegExp },
): Promise<void> {
  const failure = await work.then(
    () => undefined,
    (error) => error,
  )
  expect(failure).to.be.instanceOf(Failure)
  expect(failure).to.have.property('kind', kind)
  expect(failure).to.have.property('message').that.matches(message)
}
