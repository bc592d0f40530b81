import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { UsersHandler } from '../../support/handlers/users.ts'
import { perTest } from '../../support/lifetime.ts'
import { type Run, runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { serveHandler } from '../../support/scripted-server.ts'

describe('users import --dry-run', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(() => serveHandler(new UsersHandler()))
  const requests: string[] = []

  beforeEach(() => {
    server.onRequest = ({ method, path }) => requests.push(`${method} ${path}`)
    requests.length = 0
  })

  function file(name: string, text: string): string {
    const path = join(sandbox.home, name)
    writeFileSync(path, text)
    return path
  }

  async function run(...args: string[]): Promise<Run> {
    return runChatctl(sandbox, ['users', 'import', ...args], { service: server })
  }

  const csv = [
    ' Email ,ID,password,name,role,metadata.seats:=,settings.theme',
    'a@example.com ,,canary-1,A,editor,5,dark',
    'b@example.com,,,B,,"{""max"":[1.0]}",',
    ',u 7,,C,,,',
    'd@example.com,,canary-2,D,,,',
  ].join('\n')

  async function dryRun(...flags: string[]): Promise<Run> {
    const done = await run(file('users.csv', csv), '--dry-run', ...flags)
    expect(done.exitCode, done.stderr).to.equal(0)
    expect(done.stdout + done.stderr).not.to.include('canary')
    expect(requests).to.deep.equal([])
    return done
  }

  it('shows the first three requests on stderr, and the numbers as data', async () => {
    const { stdout, stderr } = await dryRun()
    expect(stdout).to.equal(
      'rows\t4\nalready_done\t0\nreads\t0\ncreates\t3\nupdates\t2\nassignments\t1\nrequests\t6\n',
    )
    expect(stderr).to.include('The first 3 of 6 requests:\n')
    expect(stderr).to.include(`POST ${server.url}/v1/users (line 2)\n{\n  "email": "a@example.com",\n`)
    expect(stderr).to.include(`PATCH ${server.url}/v1/users/{id} (line 2)\n`)
    expect((await dryRun('--quiet')).stderr).to.equal('')
  })

  it('generates no password, and shows where one would be', async () => {
    const path = join(sandbox.home, 'results.csv')
    const { stdout } = await dryRun('--json', '--generate-passwords', '--results', path)
    const [first] = JSON.parse(stdout).first_requests
    expect(first.body.password).to.equal('[redacted]')
    expect(existsSync(path)).to.equal(false)
    const other = file('other.csv', 'email\nb@example.com\n')
    const flags = ['--dry-run', '--json', '--generate-passwords', '--results', path]
    const [request] = JSON.parse((await run(other, ...flags)).stdout).first_requests
    expect(request.body).to.deep.equal({ email: 'b@example.com', password: '<generated>' })
    expect(existsSync(path)).to.equal(false)
  })

  it('shows the requests that are left', async () => {
    const two = 'email\na@example.com\nb@example.com\n'
    const path = file('users.csv', two)
    expect((await run(path, '--yes')).exitCode).to.equal(0)
    const nothing = await run(path, '--dry-run', '--json')
    expect(JSON.parse(nothing.stdout)).to.deep.include({ already_done: 2, requests: 0, first_requests: [] })
    expect((await run(path, '--dry-run')).stderr).not.to.include('requests:')
    writeFileSync(path, `${two}c@example.com\n`)
    const { stderr } = await run(path, '--dry-run')
    expect(stderr).to.include('The request:\n').and.include(`POST ${server.url}/v1/users (line 4)\n`)
  })
})
