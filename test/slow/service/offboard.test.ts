import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { readEvents } from '../../service/read-events.ts'
import { caller, onEachEngine, opener } from '../../service/temporary-service.ts'
import { halfReply, withModelServer } from '../../support/model-server.ts'
import { sharedPostgres } from '../../support/postgres.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { makeKey, runService } from '../../support/run-service.ts'
import { createSandbox } from '../../support/sandbox.ts'

/** In ms. The machine may be busy with other tests. */
const aSecond = 1_500

onEachEngine('a user of two service processes', (_, engine) => {
  it('has no access and no running reply within a second after they are disabled, and can be offboarded', () =>
    withModelServer(halfReply().serve, async (modelServer) => {
      const sandbox = createSandbox()
      const where = ['--data', join(sandbox.home, 'data')]
      const database = engine === 'sqlite' ? undefined : await (await sharedPostgres()).createDatabase()
      if (database !== undefined) where.push('--database', database)
      const run = [...where, '--model-server', modelServer.url]
      const admin = await makeKey(sandbox, where)
      const services = await Promise.all([runService(sandbox, run), runService(sandbox, run)])
      try {
        const user = { email: 'ada@example.com', password: 'long enough' }
        await caller(services[0].url, admin)('POST', '/v1/users', user)
        const key = await makeKey(sandbox, [...where, '--user', user.email])
        const users = (...words: string[]) =>
          runChatctl(sandbox, ['service', 'users', ...words, ...where, '--json'])
        const statuses = () =>
          Promise.all(
            services.map(async ({ url }) => (await caller(url, key)('GET', '/api/user/profile')).status),
          )
        const replies = services.map(async ({ url }) => {
          const body = { message: 'x', stream: true }
          const events = readEvents(await opener(url, key)('POST', '/api/chat/send', body))
          await events.next()
          return events
        })
        const running = await Promise.all(replies)
        expect(await statuses()).to.deep.equal([200, 200])
        expect(await users('disable', user.email, '--yes')).to.include({ exitCode: 0 })
        const ended = performance.now()
        for (const events of running) {
          let { value } = await events.next()
          while (value?.event === 'delta') value = (await events.next()).value
          expect(value?.data.error.code).to.equal('unauthorized')
        }
        expect(performance.now() - ended).to.be.below(aSecond)
        expect(await statuses()).to.deep.equal([401, 401])
        expect(await users('enable', user.email)).to.include({ exitCode: 0 })
        while ((await statuses()).includes(401)) expect(performance.now() - ended).to.be.below(10_000)

        const file = join(sandbox.home, 'ada.json')
        const report = await users('offboard', user.email, '--export', file, '--yes')
        expect(report.exitCode, report.stderr).to.equal(0)
        const steps: { services: string[] | undefined }[] = JSON.parse(report.stdout)
        for (const proof of [steps[1], steps[4]])
          expect(proof?.services).to.have.members(services.map(({ url }) => url))
        expect(existsSync(file)).to.equal(true)
        expect(await statuses()).to.deep.equal([401, 401])
      } finally {
        await Promise.all(services.map((service) => service.stop()))
        sandbox.remove()
        if (database !== undefined) await (await sharedPostgres()).dropDatabase(database)
      }
    })).timeout(60_000)
})
