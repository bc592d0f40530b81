import type { ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { startService } from '../../../src/service/start-service.ts'
import { openPostgres } from '../../../src/service/store/postgres/open-postgres.ts'
import { Browser } from '../../service/oauth/browser.ts'
import { askForCode, createUser, getTokens, refresh, signIn } from '../../service/oauth/flow.ts'
import { allEvents } from '../../service/read-events.ts'
import {
  type Answer,
  equip,
  type TemporaryService,
  withDirectory,
  withPlace,
} from '../../service/temporary-service.ts'
import { perSuite } from '../../support/lifetime.ts'
import { sendDelta, sendDone, startEvents, withModelServer } from '../../support/model-server.ts'
import { sharedPostgres, startPostgres } from '../../support/postgres.ts'
import { describeSample } from '../../support/take-sample.ts'
import { startStallingProxy } from './stalling-proxy.ts'

async function timed(asking: Promise<Answer>): Promise<{ answer: Answer; ms: number }> {
  const startedAt = performance.now()
  const answer = await asking
  return { answer, ms: performance.now() - startedAt }
}

/** Sends messages over several connections until it is stopped, and keeps the responses. */
function post({ call }: TemporaryService, connections: number) {
  const answers: { message: string; answer: Answer; ms: number }[] = []
  let isDone = false
  const worker = async (name: number) => {
    for (let number = 0; !isDone; number++) {
      const message = `${name}.${number}`
      answers.push({ message, ...(await timed(call('POST', '/api/chat/send', { message }))) })
      await pause(5)
    }
  }
  const workers = Array.from({ length: connections }, (_, index) => worker(index))
  return {
    answers,
    async stop() {
      isDone = true
      await Promise.all(workers)
    },
  }
}

function expectUnavailable({ answer, ms }: { answer: Answer; ms: number }): void {
  expect(answer.status, answer.text).to.equal(503)
  expect(answer.body.error.code).to.equal('storage_unavailable')
  expect(answer.headers.get('retry-after')).to.equal('1')
  expect(ms).to.be.below(6_000)
}

/** The time, in ms, until a request succeeds again. */
async function recovery({ call }: TemporaryService): Promise<number> {
  const startedAt = performance.now()
  while ((await call('GET', '/v1/settings')).status !== 200) {
    if (performance.now() - startedAt > 10_000) throw new Error('it did not recover')
    await pause(20)
  }
  return performance.now() - startedAt
}

/** The stream of a model server. */
async function streamForSixSeconds(response: ServerResponse): Promise<void> {
  startEvents(response)
  for (let piece = 0; piece < 60; piece++) {
    sendDelta(response, `${piece} `)
    await pause(100)
  }
  sendDelta(response, 'end', 'stop')
  sendDone(response)
}

describeSample('a service that loses its PostgreSQL server', 2, () => {
  const postgres = perSuite(startPostgres)

  /** A service with its own database, until the work is done. */
  const withOwn = (
    work: (service: TemporaryService, database: string) => Promise<void>,
    modelServer?: { url: string },
    port = postgres.port,
  ) =>
    withDirectory(async (dataDir) => {
      const database = (await postgres.createDatabase()).replace(`:${postgres.port}/`, `:${port}/`)
      const service = equip(await startService({ dataDir, database, ...(modelServer && { modelServer }) }))
      await work(service, database)
      await service.close()
    })

  const withProxy = async (
    work: (
      service: TemporaryService,
      proxy: Awaited<ReturnType<typeof startStallingProxy>>,
      database: string,
    ) => Promise<void>,
  ) => {
    const proxy = await startStallingProxy(postgres.port)
    await withOwn((service, database) => work(service, proxy, database), undefined, proxy.port)
    await proxy.close()
  }

  for (const mode of ['fast', 'immediate'] as const) {
    it(`responds with 503, loses nothing that it acknowledged, and recovers, after a ${mode} stop`, () =>
      withOwn(async (service, database) => {
        const load = post(service, 8)
        await pause(400)
        await postgres.stop(mode)
        await pause(300)
        expectUnavailable(await timed(service.call('GET', '/v1/settings')))
        expectUnavailable(await timed(service.call('PATCH', '/v1/settings', { app_name: 'x' })))
        await postgres.start()
        expect(await recovery(service)).to.be.below(1_500)
        await pause(200)
        await load.stop()
        const failed = load.answers.filter(({ answer }) => answer.status !== 200)
        expect(failed).not.to.deep.equal([])
        failed.forEach(expectUnavailable)
        const stored = new Set(
          (await postgres.query('select id from messages', database)).map(({ id }) => id),
        )
        const kept = load.answers.filter(({ answer }) => answer.status === 200)
        expect(kept.length).to.be.above(8)
        expect(kept.filter(({ answer }) => !stored.has(answer.body.id))).to.deep.equal([])
        expect(await postgres.query(halves, database)).to.deep.equal([])
      }))
  }

  it('shows the outage to users who sign in and programs that renew tokens, which stay signed in', () =>
    withOwn(async (service) => {
      await createUser(service)
      const tokens = await getTokens(service.url)
      const browser = new Browser()
      const page = await browser.open(askForCode(service.url).url)
      await postgres.stop('fast')
      for (const [path, fields] of [
        ['/oauth/token', { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }],
        ['/oauth/revoke', { token: tokens.refresh_token }],
      ] as const) {
        const body = new URLSearchParams({ client_id: 'chatctl', ...fields })
        const answer = await fetch(service.url + path, { method: 'POST', body })
        expect(answer.status, path).to.equal(503)
        expect(answer.headers.get('retry-after')).to.equal('1')
        expect(await answer.json()).to.include({ error: 'temporarily_unavailable' })
      }
      const pages = [
        await browser.open(askForCode(service.url).url),
        await browser.open(`${service.url}/sign-in`),
        await signIn(browser, page),
      ]
      for (const { status, headers, text } of pages) {
        expect(status).to.equal(503)
        expect(headers.get('retry-after')).to.equal('1')
        expect(text).to.include('The database of the service does not respond; try again.')
      }
      await postgres.start()
      await recovery(service)
      expect((await refresh(service.url, tokens.refresh_token)).status).to.equal(200)
    }))

  it('completes and stores streams that began before the outage and end after it', () =>
    withModelServer(streamForSixSeconds, ({ url }) =>
      withOwn(
        async (service, database) => {
          const streams = Array.from({ length: 5 }, async () =>
            allEvents(
              await service.open('POST', '/api/chat/send', { message: 'x', model: 'm', stream: true }),
            ),
          )
          await pause(1_500)
          await postgres.stop('fast')
          await pause(1_500)
          await postgres.start()
          for (const events of await Promise.all(streams)) {
            const { event, data } = events.at(-1) ?? {}
            expect(event, JSON.stringify(data)).to.equal('done')
            const [stored] = await postgres.query(
              `select content, incomplete::int from messages where id = '${data.id}'`,
              database,
            )
            expect(stored).to.include({ content: data.response, incomplete: 0 })
          }
        },
        { url },
      ),
    )).timeout(30_000)

  it('continues when its connections are terminated one by one', () =>
    withOwn(async (service, database) => {
      const load = post(service, 8)
      for (let round = 0; round < 10; round++) {
        await pause(50)
        const name = new URL(database).pathname.slice(1)
        await postgres.query(
          `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`,
        )
      }
      await load.stop()
      for (const each of load.answers) if (each.answer.status !== 200) expectUnavailable(each)
      expect(load.answers.some(({ answer }) => answer.status === 200)).to.equal(true)
      expect((await service.call('GET', '/v1/settings')).status).to.equal(200)
    }))

  it('does not wait for a server that stops responding, and recovers when it responds again', () =>
    withProxy(async (service, proxy) => {
      expect((await service.call('GET', '/v1/settings')).status).to.equal(200)
      proxy.stall()
      const answers = await Promise.all(
        Array.from({ length: 15 }, () => timed(service.call('GET', '/v1/settings'))),
      )
      answers.forEach(expectUnavailable)
      proxy.resume()
      expect(await recovery(service)).to.be.below(1_500)
    }))

  it('stops within 5 s while the server does not respond', () =>
    withProxy(async (service, proxy, database) => {
      await service.call('GET', '/v1/settings')
      const store = await openPostgres(database)
      store.generation()
      await pause(300)
      proxy.stall()
      const startedAt = performance.now()
      await Promise.all([service.close(), store.close()])
      expect(performance.now() - startedAt).to.be.below(5_000)
    }))
})

/** Conversations that do not have exactly two messages. */
const halves = `select c.id from contexts c left join messages m on m.context_id = c.id
  group by c.id having count(m.id) <> 2`

describe('two services on one PostgreSQL database', () => {
  before(async () => {
    await sharedPostgres()
  })

  it('keep every one of many concurrent changes', () =>
    withPlace('postgres', async (place) => {
      const both = [equip(await startService(place)), equip(await startService(place))]
      const patches = [
        { app_name: 'Together' },
        { theme: { mode: 'dark' } },
        { theme: { primary_color: '#000000' } },
        { features: { file_upload: true } },
        { features: { code_completion: true } },
        { limits: { max_tokens: 1 } },
        { limits: { max_requests_per_min: 2_000 } },
      ]
      const counts = Array.from({ length: 20 }, (_, index) => ({ metadata: { [`k${index}`]: index } }))
      const settled = await Promise.all([
        ...patches.map((patch, index) => both[index % 2]?.call('PATCH', '/v1/settings', patch)),
        ...counts.map((body, index) => both[index % 2]?.call('PATCH', '/v1/users/usr_admin', body)),
      ])
      for (const answer of settled) expect(answer?.status, answer?.text).to.equal(200)
      expect((await both[1]?.call('GET', '/v1/settings'))?.body).to.deep.equal({
        app_name: 'Together',
        theme: { primary_color: '#000000', mode: 'dark' },
        features: { chat: true, file_upload: true, code_completion: true },
        limits: { max_tokens: 1, max_requests_per_min: 2_000 },
      })
      const { body } = (await both[0]?.call('GET', '/v1/users/usr_admin')) ?? {}
      expect(Object.keys(body.metadata)).to.have.length(20)
      await Promise.all(both.map((service) => service.close()))
    }))
})
