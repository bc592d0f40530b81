import { hash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, parse } from 'node:path'
import { expect } from 'chai'
import { expectFailure } from '../../support/expect-failure.ts'
import { UsersHandler, type UsersOptions } from '../../support/handlers/users.ts'
import { ledgersOf } from '../../support/recorded-changes.ts'
import { type Run, runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox, type Sandbox } from '../../support/sandbox.ts'
import { type Served, serveHandler } from '../../support/scripted-server.ts'

describe('users import --restart', function () {
  this.timeout(60_000)
  let sandbox: Sandbox
  let server: Served<UsersHandler>
  let path: string

  async function begin(options: UsersOptions): Promise<void> {
    sandbox = createSandbox()
    server = await serveHandler(new UsersHandler({ allowsDuplicates: true, ...options }))
    path = join(sandbox.home, 'users.csv')
    writeFileSync(path, 'email\na@example.com\nb@example.com\n')
  }
  afterEach(async () => {
    await server.close()
    sandbox.remove()
  })

  const run = (args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Run> =>
    runChatctl(sandbox, args, { service: server, env, timeout: 50_000 })
  const importing = (...flags: string[]) => run(['users', 'import', path, ...flags])

  it('changes what is known only when something is sent', async () => {
    await begin({})
    expect((await importing('--yes')).exitCode).to.equal(0)
    expect((await importing('--restart', '--dry-run')).exitCode).to.equal(0)
    expect((await importing('--restart')).exitCode).to.equal(3)
    await server.close()
    expect((await importing('--restart', '--yes')).exitCode).to.equal(69)
    await server.open()
    expect((await importing('--yes')).exitCode).to.equal(0)
    expect(server.report().users.size).to.equal(2)
    writeFileSync(path, 'email\na@example.com\nc@example.com\n')
    expect((await importing('--restart', '--yes')).exitCode).to.equal(0)
    expect((await importing('--yes')).exitCode).to.equal(0)
    expect(server.report().users.size).to.equal(4)
  })

  it('reports an import that cannot be locked, also for --close', async () => {
    await begin({ fates: { lost: 1 } })
    expect((await importing('--yes')).exitCode).to.equal(9)
    const [ledger = ''] = ledgersOf(sandbox)
    const { dir } = parse(ledger)
    const digest = hash('sha256', path).slice(0, 12)
    mkdirSync(`${ledger}.${digest}.lock`)
    for (const flag of ['--yes', '--close'])
      expectFailure(await importing(flag), 1, `Cannot use the directory ${dir}: unable to open database file`)
  })

  it('is not part of the suggested command that resolves a row', async () => {
    await begin({ fates: { lost: 1 } })
    const done = await importing('--restart', '--yes')
    const [, command = ''] = /^ {2}(chatctl users import .*--on-unknown skip.*)$/m.exec(done.stderr) ?? []
    expect(command).to.contain(path).and.not.to.contain('--restart')
    expect((await run(command.split(' ').slice(1))).exitCode).to.equal(9)
    expect((await importing('--yes', '--restart', '--on-unknown', 'skip')).exitCode).to.equal(2)
    expect(server.report().users.size).to.equal(2)
  })

  it('is resumed without --restart', async () => {
    await begin({ quota: { requests: 1, window: 60_000, headers: 'Retry-After' } })
    const done = await importing('--restart', '--yes', '--max-wait', '1s', '--quota', '100/h')
    expect(done.exitCode).to.equal(75)
    expect(done.stderr).to.contain('To resume, run the same command without --restart.')
  })
})
