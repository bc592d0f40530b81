import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { type FaultServer, json, startFaultServer } from '../../support/fault-server.ts'
import { perTest } from '../../support/lifetime.ts'
import { type Run, runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { until } from '../../support/until.ts'

/** Each flag of the commands that send a file of rows has an effect that is visible from outside. */

interface FileCommand {
  name: string
  args(path: string): string[]
  /** A row of the file as a line of JSON. `cells` has it as a line of CSV. */
  row(index: number): string
  header: string
  cells(index: number): string
  /** Whether its rows create users, which no later run creates again. */
  creates: boolean
}

const fileCommands: FileCommand[] = [
  {
    name: 'users import',
    args: (path) => ['users', 'import', path, '--yes'],
    row: (index) => JSON.stringify({ email: `user${index}@example.com` }),
    header: 'email,name',
    cells: (index) => `user${index}@example.com,User`,
    creates: true,
  },
  {
    name: 'users permissions assign --file',
    args: (path) => ['users', 'permissions', 'assign', '--file', path, '--yes'],
    row: (index) => JSON.stringify({ id: `usr_${index}`, role: 'editor' }),
    header: 'id,permissions',
    cells: (index) => `usr_${index},read:chat`,
    creates: false,
  },
]

for (const { name, args, row, header, cells, creates } of fileCommands) {
  describe(`${name}`, function () {
    this.timeout(60_000)
    const sandbox = perTest(createSandbox)
    let server: FaultServer
    let inFlight = { now: 0, most: 0 }
    /** How many changes arrive before the first of them is answered. */
    let together = 1
    beforeEach(async () => {
      inFlight = { now: 0, most: 0 }
      together = 1
      server = await startFaultServer(async (request, response, incoming) => {
        const id = `usr_${server.requests.length}`
        if (request.method !== 'GET') {
          inFlight.now++
          inFlight.most = Math.max(inFlight.most, inFlight.now)
          await until(() => inFlight.most >= together)
          await sleep(20)
          inFlight.now--
        }
        await json(201, { id })(request, response, incoming)
      })
    })
    afterEach(async () => {
      await server.close()
    })

    const changes = () => server.requests.filter(({ method }) => method !== 'GET').length

    async function run(path: string, ...flags: string[]): Promise<Run & { changes: number }> {
      const before = changes()
      const env = { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'some-key' }
      const done = await runChatctl(sandbox, [...args(path), ...flags], { env })
      return { ...done, changes: changes() - before }
    }

    function file(fileName: string, lines: readonly string[]): string {
      const path = join(sandbox.home, fileName)
      writeFileSync(path, lines.map((line) => `${line}\n`).join(''))
      return path
    }

    const csv = (count: number) => [header, ...Array.from({ length: count }, (_, index) => cells(index))]

    it('reads a file in the format of --format', async () => {
      const path = file('rows.txt', [row(0), row(1)])
      expect(await run(path, '--format', 'csv')).to.include({ exitCode: 2, changes: 0 })
      expect(await run(path, '--format', 'jsonl')).to.include({ exitCode: 0, changes: 2 })
    })

    it('sends as many requests at the same time as --concurrency says', async () => {
      together = 3
      await run(file('three.csv', csv(12)), '--concurrency', '3')
      expect(inFlight.most).to.equal(3)
      inFlight.most = 0
      together = 8
      await run(file('usual.csv', csv(24)))
      expect(inFlight.most).to.equal(8)
    })

    it('sends all rows again with --restart', async () => {
      const path = file('rows.csv', csv(2))
      expect(await run(path)).to.include({ exitCode: 0, changes: 2 })
      expect(await run(path)).to.include({ exitCode: 0, changes: creates ? 0 : 2 })
      expect(await run(path, '--restart')).to.include({ exitCode: 0, changes: 2 })
    })
  })
}
