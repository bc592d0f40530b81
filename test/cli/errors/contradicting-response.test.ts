import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { perTest } from '../../support/lifetime.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { json, type RecordedRequest, startScriptedServer } from '../../support/scripted-server.ts'

const old = { id: 'u1', email: 'ada@example.com', name: 'Old' }
const viewer = { role: 'viewer', permissions: [] }
const off = { rate_limiting: { enabled: false } }

/** A service that responds to each change with a 2xx status and other values than those that were sent. */
function respond({ method, path }: RecordedRequest): object {
  if (path === '/v1/settings') return { app_name: 'Chat' }
  if (path === '/v1/settings/api') return off
  if (path === '/api/user/settings' && method === 'PUT')
    return { success: true, settings: { theme: 'light' } }
  return path.endsWith('/permissions') ? viewer : old
}

describe('a response that contradicts the change', () => {
  const sandbox = perTest(createSandbox)
  let status: number
  const server = perTest(() =>
    startScriptedServer({
      choose: (request) => json(request.method === 'GET' ? 200 : status, respond(request)),
    }),
  )
  beforeEach(() => {
    status = 200
  })
  const run = (...args: string[]) =>
    runChatctl(sandbox, args, { env: { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'key-of-a-test' } })
  const write = (name: string, content: unknown) =>
    writeFileSync(join(sandbox.home, name), typeof content === 'string' ? content : JSON.stringify(content))

  const name = 'name did not take effect: expected "Ada", found "Old"'
  const role = 'role did not take effect: expected "admin", found "viewer"'
  const permissions = 'permissions did not take effect: expected ["read:chat"], found []'
  const rate = 'rate_limiting.enabled did not take effect: expected true, found false'
  const lines: [line: string, words: string][] = [
    ['users create --email ada@example.com --name Ada --no-password', name],
    ['users update u1 --name Ada', name],
    ['users permissions assign u1 read:chat --role admin', `${permissions}; ${role}`],
    ['users settings set --theme dark', 'settings.theme did not take effect: expected "dark", found "light"'],
    ['settings api set --rate-limiting on', rate],
  ]
  for (const [line, words] of lines)
    it(`exits 7 and names the fields: chatctl ${line}`, async () => {
      const { exitCode, stdout, stderr } = await run(...line.split(' '), '--json')
      const { error } = JSON.parse(stderr.split('\n').find((found) => found.startsWith('{"error"')) ?? '{}')
      expect({ exitCode, code: error?.code }, stderr).to.deep.equal({ exitCode: 7, code: 'conflict' })
      expect(error.message).to.equal(`The response with status 200 shows that ${words}`)
      expect(error.details.keys[0]).to.have.all.keys('path', 'expected', 'found')
      expect(stdout).to.contain('"')
    })

  it('shows the ID and the password of a user that was created', async () => {
    const done = await run(
      'users',
      'create',
      '--email',
      'ada@example.com',
      '--name',
      'Ada',
      '--generate-password',
    )
    expect(done.exitCode, done.stderr).to.equal(7)
    expect(done.stdout).to.match(/^u1\tada@example.com\tOld\t.*\S\n$/)
    expect(done.stderr).to.contain('Check the user with: chatctl users get u1')
    expect(done.stderr).to.contain('The generated password is in ')
  })

  it('leaves the outcome unknown with status 202', async () => {
    status = 202
    const done = await run('users', 'update', 'u1', '--name', 'Ada')
    expect(done.exitCode, done.stderr).to.equal(69)
    expect(done.stderr).to.contain(
      `The outcome of the change is unknown: the response with status 202 shows that ${name}`,
    )
  })

  it('fails users apply, which sends the role again in the next run', async () => {
    write('users.json', [{ email: 'ada@example.com', name: 'Old', role: 'admin' }])
    await run('users', 'adopt', 'ada@example.com=u1')
    for (let times = 0; times < 2; times++) {
      const done = await run('users', 'apply', 'users.json', '--yes')
      expect(done.exitCode, done.stderr).to.equal(7)
      expect(done.stderr).to.contain(`ada@example.com: the response with status 200 shows that ${role}`)
      expect(done.stdout).to.equal('Done: 0 users.\n')
    }
  })

  it('fails the rows of an import', async () => {
    write(
      'users.csv',
      'id,email,name,role\n,ada@example.com,Ada,admin\nu1,,Ada,\nu2,,,admin\nu3,,Old,viewer\n',
    )
    const done = await run('users', 'import', 'users.csv', '--yes', '--json', '--results', 'results.csv')
    expect(done.exitCode, done.stderr).to.equal(9)
    expect(JSON.parse(done.stdout)).to.include({ created: 0, updated: 1, failed: 3, unknown: 0 })
    expect(readFileSync(join(sandbox.home, 'results.csv'), 'utf8')).to.contain(
      'u1,failed,"the user was created, but the response with status 200 shows that name did not',
    )
    expect(server.requests.some(({ path }) => path === '/v1/users/u1/permissions')).to.equal(false)
    const again = await run('users', 'import', 'users.csv', '--yes', '--json')
    expect(JSON.parse(again.stdout)).to.include({ created: 0, failed: 3 })
    expect(server.requests.filter(({ path }) => path === '/v1/users')).to.have.length(1)
    const failedRows = readFileSync(join(sandbox.home, 'users.failed.csv'), 'utf8')
    expect(failedRows).to.match(/^u1,ada@example.com,Ada,admin$/m)
  })
})
