import { once } from 'node:events'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { expect } from 'chai'
import { caller } from '../../service/temporary-service.ts'
import { perSuite, perTest } from '../../support/lifetime.ts'
import { startPostgres } from '../../support/postgres.ts'
import { type RunOptions, startBuilt } from '../../support/run-chatctl.ts'
import { runProgram } from '../../support/run-program.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { describeSample } from '../../support/take-sample.ts'

/** The contents of all files in a directory. */
function contentsOf(directory: string): string {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .map((name) => join(directory, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => readFileSync(path, 'latin1'))
    .join('\n')
}

describeSample('service --database', 2, () => {
  const postgres = perSuite(startPostgres)
  const sandbox = perTest(createSandbox)

  const run = (args: string[], options?: RunOptions) =>
    runProgram(sandbox, ['service', ...args, '--debug'], options)

  it('shows the password in no output, error, log, or file', async () => {
    const database = await postgres.createDatabase()
    const env = { CHATCTL_DATABASE: database }
    const told: string[] = []
    const tell = async (args: string[], options?: RunOptions) => {
      const { stdout, stderr, exitCode } = await run(args, options)
      told.push(stdout, stderr)
      return { stdout, exitCode }
    }
    const made = await tell(['keys', 'create', '--name', 'x', '--jq', '.key', '--database', database])
    const service = startBuilt(
      sandbox,
      ['service', 'run', '--port', '0', '--json', '--log-level', 'trace', '--debug'],
      { env },
    )
    const ended = once(service, 'exit')
    service.stderr?.on('data', (chunk) => told.push(String(chunk)))
    const [ready] = await once(service.stdout as Readable, 'data')
    const call = caller(JSON.parse(String(ready)).url, made.stdout.trim())
    expect((await call('POST', '/api/chat/send', { message: 'hello' })).status).to.equal(200)
    const status = await tell(['status', '--json'], { env })
    expect(JSON.parse(status.stdout)).to.include({
      database: `postgres://127.0.0.1:${postgres.port}${new URL(database).pathname}`,
      messages: 2,
    })
    await tell(['keys', 'list', '--json'], { env })
    await postgres.stop('immediate')
    const lost = await call('PATCH', '/v1/settings', { app_name: 'x' })
    expect(lost.status).to.equal(503)
    told.push(lost.text)
    expect((await tell(['status'], { env })).exitCode).to.equal(69)
    await postgres.start()
    for (const wrong of [
      `${database}nope`,
      database.replace('@127.0.0.1', '@[127.0.0.1'),
      database.replace('postgres://', 'mysql://'),
      `${database}?sslmode=verify-full`,
      `${database}?sslrootcert=/nowhere`,
      database.replace('chatctl:', 'nobody:'),
    ]) {
      expect(
        (await tell(['keys', 'list'], { env: { CHATCTL_DATABASE: wrong } })).exitCode,
        wrong,
      ).to.be.above(0)
      expect((await tell(['run', '--port', '0', '--database', wrong])).exitCode, wrong).to.be.above(0)
    }
    told.push(contentsOf(sandbox.home))
    service.kill('SIGTERM')
    await ended
    told.push(contentsOf(sandbox.home))
    expect(told.join('\n')).to.include('127.0.0.1')
    expect(told.join('\n')).not.to.include(postgres.password)
  }).timeout(60_000)

  it('applies to keys create, list, and revoke, and to status', async () => {
    const at = ['--database', await postgres.createDatabase()]
    const tell = async (args: string[]) => (await run(args)).stdout.trim()
    expect(await tell(['keys', 'list', ...at, '--jq', 'length'])).to.equal('0')
    const id = await tell(['keys', 'create', '--name', 'x', ...at, '--jq', '.id'])
    expect(await tell(['keys', 'list', ...at, '--jq', '.[].id'])).to.equal(id)
    expect(await tell(['status', ...at, '--jq', '.keys'])).to.equal('1')
    expect((await run(['keys', 'revoke', id, '--yes', ...at])).exitCode).to.equal(0)
    expect(await tell(['status', ...at, '--jq', '.keys'])).to.equal('0')
    expect(await tell(['keys', 'list', '--jq', 'length'])).to.equal('0')
  })

  it('may omit the password if PGPASSWORD has it', async () => {
    const database = await postgres.createDatabase()
    const bare = database.replace(`:${postgres.password}`, '')
    const refused = await run(['keys', 'create', '--name', 'x', '--database', bare])
    expect(refused.exitCode).to.equal(1)
    expect(refused.stderr).to.include('a password is required').and.include('PGPASSWORD')
    const env = { PGPASSWORD: postgres.password }
    expect((await run(['keys', 'create', '--name', 'x', '--database', bare], { env })).exitCode).to.equal(0)
  })
})
