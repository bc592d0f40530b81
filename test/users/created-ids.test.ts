import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { idOfCreated } from '../../src/client/response/response.ts'
import { perTest } from '../support/lifetime.ts'
import { runChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import { type Behavior, json, type RecordedRequest, startScriptedServer } from '../support/scripted-server.ts'

describe('the ID of a created user', () => {
  const sandbox = perTest(createSandbox)
  let created: (user: { email: string; password: string }) => Behavior
  let read: object
  const server = perTest(() => startScriptedServer({ choose: respond }))
  beforeEach(() => {
    read = {}
  })

  function respond({ method, path, body }: RecordedRequest): Behavior {
    if (path !== '/v1/users') return json(200, method === 'GET' ? read : {})
    return created(JSON.parse(body))
  }

  const requests = () =>
    server.requests
      .map(({ method, path }) => `${method} ${path}`)
      .filter((request) => request !== 'GET /api/user/profile')
  const commands = {
    import: ['users', 'import', 'users.json', '--yes', '--results', 'results.csv'],
    apply: ['users', 'apply', 'users.json', '--yes', '--password-command', 'printf secret-%s 1'],
  }
  const run = (name: keyof typeof commands, users: readonly object[], ...flags: string[]) => {
    const rows = users.map((user) => (name === 'import' ? { ...user, password: 'secret-1' } : user))
    writeFileSync(join(sandbox.home, 'users.json'), JSON.stringify(rows))
    server.requests.length = 0
    return runChatctl(sandbox, [...commands[name], ...flags], { service: server, cwd: sandbox.home })
  }
  const ada = { email: 'ada@example.com' }
  const bob = { email: 'bob@example.com', role: 'admin' }
  const eve = { email: 'eve@example.com' }

  const bodies: [body: object, id: string | undefined][] = [
    [{ id: 'u1', user: { id: 'u2' }, user_id: 'u3' }, 'u1'],
    [{ user: { id: 'u1', email: 'bob@example.com' } }, 'u1'],
    [{ user_id: 7 }, '7'],
    [{ data: { id: 'u1' } }, 'u1'],
    [{ data: { user: { user_id: 'u1' } } }, 'u1'],
    [{ user: { name: 'Bob' }, data: [], user_id: null }, undefined],
  ]
  for (const [body, id] of bodies)
    it(`is ${id ?? 'unknown'} in ${JSON.stringify(body)}`, async () => {
      expect(idOfCreated({ body, status: 201, headers: {}, faults: [] })).to.equal(id)
      if (id === undefined) return
      created = () => json(201, body)
      read = 'data' in body ? { data: { id, ...bob } } : { id, ...bob }
      for (const name of ['import', 'apply'] as const) {
        const done = await run(name, [bob])
        expect(done.exitCode, done.stderr).to.equal(0)
        if (name === 'import')
          expect(requests()).to.deep.equal(['POST /v1/users', `POST /v1/users/${id}/permissions`])
      }
    })

  it('is checked for its email in a response with a wrapped user', async () => {
    created = () => json(201, { user: { id: 'u1', email: 'other@example.com' } })
    expect((await run('import', [bob])).stderr).to.contain('the response has the email "other@example.com"')
    expect(requests()).to.deep.equal(['POST /v1/users'])
  })

  it('is awaited before a second user is created, and then creates are sent together', async () => {
    let arrived = 0
    let alone = 0
    const together = Promise.withResolvers<void>()
    created = (user) => async (request, response, incoming) => {
      const number = ++arrived
      if (number === 5) together.resolve()
      if (number === 1) await new Promise((resolve) => setTimeout(resolve, 20))
      else await together.promise
      alone ||= arrived
      return json(201, { id: user.email })(request, response, incoming)
    }
    const users = Array.from({ length: 9 }, (_, n) => ({ email: `u${n}@example.com` }))
    expect((await run('import', users, '--concurrency', '4')).exitCode).to.equal(0)
    expect([alone, arrived]).to.deep.equal([1, 9])
  })

  for (const name of ['import', 'apply'] as const)
    describe(`which a service does not return, in users ${name}`, () => {
      beforeEach(() => {
        created = ({ password }) => json(201, { ok: true, token: 'abc', echo: `is ${password}` })
      })

      it('ends the run after one create, with the response body without secrets', async () => {
        const done = await run(name, [ada, bob, eve], '--json')
        expect(done.exitCode, done.stderr).to.equal(9)
        expect(requests()).to.deep.equal(['POST /v1/users'])
        const { error } = JSON.parse(done.stderr.trim().split('\n').at(-1) ?? '')
        expect(error).to.deep.include({
          code: 'no_id',
          details: { body: { ok: true, token: '[redacted]', echo: 'is [redacted]' } },
        })
        expect(error.message)
          .to.contain('creation of ada@example.com (201) contains no ID')
          .and.to.contain('"ok":true')
        expect(error.hint).to.contain('--without-ids')
        expect(done.stderr).not.to.contain('secret-1').and.not.to.contain('To resume')
      })

      it('lets --without-ids create the users that need no other request', async () => {
        const done = await run(name, [ada, bob, eve], '--without-ids')
        expect(done.exitCode, done.stderr).to.equal(9)
        expect(requests()).to.deep.equal(['POST /v1/users', 'POST /v1/users'])
        expect(done.stderr).to.contain('not created, because the next request needs the ID')
      })

      it('is only accepted with status 202, so that the user is not counted as created', async () => {
        created = () => json(202, { id: 'u1' })
        const done = await run(name, [ada])
        expect(done.exitCode, done.stderr).to.equal(9)
        expect(done.stderr).to.contain('has only accepted the request (202), and may create the user later')
        expect(done.stdout).not.to.contain('created 1 user')
        const again = await run(name, [ada])
        expect([again.exitCode, requests()]).to.deep.equal([9, []])
      })
    })

  it('may be unknown for an import with --without-ids whose users need no other request', async () => {
    created = () => json(201, {})
    const done = await run('import', [ada, eve], '--without-ids')
    expect(done.exitCode, done.stderr).to.equal(0)
    expect(readFileSync(join(sandbox.home, 'results.csv'), 'utf8')).to.match(
      /ada@example.com,,created,\n.*eve@example.com,,created,\n/,
    )
  })

  it('does not make users create call a user created that the service has only accepted', async () => {
    created = () => json(202, {})
    const words = ['users', 'create', '--email', 'ada@example.com', '--no-password']
    const done = await runChatctl(sandbox, words, { service: server })
    expect(done.exitCode, done.stderr).to.equal(0)
    expect(done.stderr).to.contain('only accepted the request (202)').and.not.to.contain('Created')
  })
})
