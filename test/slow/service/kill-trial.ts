import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { sql } from 'kysely'
import { openAdministration } from '../../../src/service/administration/administration.ts'
import { type DataLocation, openStore } from '../../../src/service/store/open-store.ts'
import { caller } from '../../service/temporary-service.ts'
import { startBuilt } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'

/** What the service acknowledged, by the id of the reply. */
type Acknowledged = Map<string, { message: string; context: string }>

/** Connections that send one message after another. */
const connections = 8

/**
 * Kills a service under load, without warning and at random moments. After each kill, everything that it
 * acknowledged must be stored: both messages and their context. No exchange may be stored in part.
 *
 * @returns how many exchanges were acknowledged in total
 */
export async function killTrial(place: DataLocation, kills: number): Promise<number> {
  const key = await createKey(place)
  const acknowledged: Acknowledged = new Map()
  for (let kill = 0; kill < kills; kill++) {
    await postUntilKilled(place, key, acknowledged, kill)
    await expectAllStored(place, acknowledged)
  }
  return acknowledged.size
}

async function createKey(place: DataLocation): Promise<string> {
  const administration = await openAdministration(place)
  const { key } = await administration.createKey({ name: 'trial', tier: 'enterprise' })
  await administration.close()
  return key
}

async function postUntilKilled(place: DataLocation, key: string, acknowledged: Acknowledged, round: number) {
  using sandbox = createSandbox()
  const args = ['service', 'run', '--port', '0', '--data', place.dataDir, '--log-level', 'silent', '--json']
  const env = place.database === undefined ? {} : { CHATCTL_DATABASE: place.database }
  const service = startBuilt(sandbox, args, { env })
  const ended = once(service, 'exit')
  const [line] = await Promise.race([
    once(service.stdout as Readable, 'data'),
    ended.then(() => Promise.reject(new Error('the service did not start'))),
  ])
  const call = caller(JSON.parse(String(line)).url, key)
  let isKilled = false
  const worker = async (name: number) => {
    for (let number = 0; !isKilled; number++) {
      const message = `round ${round}, connection ${name}, message ${number}`
      // A request that the kill interrupts was not acknowledged, and may or may not be stored.
      const answer = await call('POST', '/api/chat/send', { message }).catch(() => undefined)
      if (answer === undefined) continue
      expect(answer.status, answer.text).to.equal(200)
      acknowledged.set(answer.body.id, { message, context: answer.body.context_id })
    }
  }
  const workers = Array.from({ length: connections }, (_, index) => worker(index))
  const before = acknowledged.size
  await sleep(100 + Math.random() * 400)
  // A slow machine may have stored nothing yet, and then the trial would test nothing.
  while (acknowledged.size === before && service.exitCode === null) await sleep(10)
  service.kill('SIGKILL')
  await ended
  isKilled = true
  await Promise.all(workers)
}

async function expectAllStored(place: DataLocation, acknowledged: Acknowledged): Promise<void> {
  const store = await openStore(place)
  try {
    if (store.engine === 'sqlite') {
      const { rows } = await sql`pragma integrity_check`.execute(store.db)
      expect(rows).to.deep.equal([{ integrity_check: 'ok' }])
    }
    const messages = await store.db.selectFrom('messages').selectAll().orderBy('seq').execute()
    const contexts = await store.db.selectFrom('contexts').select('id').execute()
    const ofContext = Map.groupBy(messages, (message) => message.context_id)
    // Each exchange opens a separate context, so an incomplete one is visible.
    expect([...ofContext.keys()].sort()).to.deep.equal(contexts.map(({ id }) => id).sort())
    for (const [context, exchange] of ofContext) {
      expect(
        exchange.map(({ role }) => role),
        context,
      ).to.deep.equal(['user', 'assistant'])
    }
    const lost = [...acknowledged].filter(([id, { message, context }]) => {
      const [asked, answered] = ofContext.get(context) ?? []
      return asked?.content !== message || answered?.id !== id
    })
    expect(lost).to.deep.equal([])
  } finally {
    await store.close()
  }
}
