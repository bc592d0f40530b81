import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { parse } from 'csv-parse/sync'
import { expectFailure } from '../../support/expect-failure.ts'
import { UsersHandler } from '../../support/handlers/users.ts'
import { perTest } from '../../support/lifetime.ts'
import { type Run, runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { serveHandler } from '../../support/scripted-server.ts'

describe('an import with many rows whose outcome is unknown', function () {
  this.timeout(60_000)
  const sandbox = perTest(createSandbox)
  const server = perTest(() => serveHandler(new UsersHandler({ seed: 3, fates: { lost: 0.3 } })))
  let path: string
  let list: string
  const rows = 120

  beforeEach(() => {
    path = join(sandbox.home, 'users.jsonl')
    list = join(sandbox.home, 'users.unknown.csv')
    const emails = Array.from({ length: rows }, (_, index) => `user${index}@example.com`)
    writeFileSync(path, emails.map((email) => `${JSON.stringify({ email })}\n`).join(''))
  })

  const run = (...args: string[]): Promise<Run> =>
    runChatctl(sandbox, args, { service: server, timeout: 50_000 })
  const importing = (...flags: string[]) => run('users', 'import', path, '--yes', ...flags)
  const imports = async () =>
    JSON.parse((await run('doctor', '--json')).stdout).filter(
      ({ check }: { check: string }) => check === 'imports',
    )

  it('names ten of the rows, writes all of them to a file, and prints counts', async () => {
    const done = await importing('--json')
    const { unknown, unknown_rows } = JSON.parse(done.stdout)
    expect(unknown).to.be.above(20)
    expect(unknown_rows).to.equal(list)
    expect(statSync(list).mode & 0o777).to.equal(0o600)
    const listed: Record<string, string>[] = parse(readFileSync(list), { columns: true })
    expect(listed).to.have.length(unknown)
    expect(Object.keys(listed[0] ?? {})).to.deep.equal(['line', 'email', 'id', 'status', 'error'])
    for (const { line, email, status } of listed)
      expect([email, status]).to.deep.equal([`user${Number(line) - 1}@example.com`, 'unknown'])
    const warning = JSON.parse(done.stderr.split('\n').find((line) => line.includes('is unknown')) ?? '')
    expect(warning.warning.message.match(/is unknown/g)).to.have.length(10)
    expect(warning.warning.message).to.contain(`and ${unknown - 10} more; all are listed in ${list}`)
    // A row can be resolved with the data of the list.
    const skipped = await importing('--on-unknown', 'skip', '--line', listed.at(-1)?.['line'] ?? '', '--json')
    expect(JSON.parse(skipped.stdout)).to.include({ unknown: unknown - 1, skipped: 1 })
    await importing('--on-unknown', 'skip')
    expect(existsSync(list)).to.equal(false)
  })

  it('can be closed, also without its file, and is resumed when the file is imported again', async () => {
    const { unknown, created } = JSON.parse((await importing('--json')).stdout)
    expect(await imports()).to.have.length(1)
    const text = readFileSync(path)
    rmSync(path)
    const closed = await run('users', 'import', path, '--close', '--json')
    expect(closed.exitCode, closed.stderr).to.equal(0)
    const shown = JSON.parse(closed.stdout)
    expect(shown).to.deep.equal([{ file: path, service: `${server.url}/`, rows, sent: rows, unknown }])
    expect((await imports())[0]).to.include({ status: 'ok', hint: null })
    expectFailure(await run('users', 'import', path, '--close'), 2, 'No unfinished import')
    writeFileSync(path, text)
    const again = await importing('--json')
    expect(JSON.parse(again.stdout)).to.include({ unknown, created: 0, already_done: created, requests: 0 })
    await importing('--on-unknown', 'skip', '--line', again.stderr.match(/--line (\d+)/)?.[1] ?? '')
    expect((await imports())[0]?.message).to.contain(`the outcome of ${unknown - 1} rows is unknown`)
  })

  it('sends nothing with --close', async () => {
    let requests = 0
    server.onRequest = () => requests++
    expectFailure(await run('users', 'import', path, '--close'), 2, 'No unfinished import')
    for (const flags of [['--restart'], ['--quota', '5/h'], ['--concurrency', '2']])
      expectFailure(await run('users', 'import', path, '--close', ...flags), 2, `${flags[0]}`)
    expect(requests).to.equal(0)
  })
})
