import { expect } from 'chai'
import { type Clock, systemClock } from '../../../src/system/clock.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { perSuite, perTest } from '../../support/lifetime.ts'
import { type HostOptions, type Run, runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import {
  type Behavior,
  delayed,
  failing,
  json,
  limited,
  reset,
  type Script,
  startScriptedServer,
} from '../../support/scripted-server.ts'

describe('users get with a response without any documented field', () => {
  const sandbox = perSuite(createSandbox)
  const server = perTest(startScriptedServer)

  async function get(args: readonly string[], body: unknown): Promise<Run> {
    await server.serve(json(200, body))
    return runChatctl(sandbox, ['users', 'get', ...args], { service: server })
  }

  const enveloped = { data: { id: 'u1', password: 'canary', tags: ['\u001b[31m'] } }

  it('warns, and shows what the response contains', async () => {
    const warning = 'The response has none of the documented fields, so it is shown as it is'
    expect(await get(['u1'], { data: { id: 'u1', age: 5 } })).to.deep.equal({
      exitCode: 0,
      stdout: 'data.id\tu1\ndata.age\t5\n',
      stderr: `Warning: ${warning}\n`,
    })
    const json = await get(['u1', '--json'], enveloped)
    expect(JSON.parse(json.stdout)).to.deep.equal(enveloped)
    expect(JSON.parse(json.stderr)).to.deep.equal({ warning: { message: warning } })
    expect((await get(['u1', '--fields', 'id,name'], enveloped)).stdout).to.equal('')
  })

  it('quotes the first responses in one warning for several IDs, without secrets', async () => {
    const ids = ['u1', 'u2', 'u3', 'u4']
    const { stdout, stderr } = await get(ids, enveloped)
    expect(stdout).to.equal(ids.map((id) => `${id}\t\t\t\t\t\n`).join(''))
    const quoted = '{"data":{"id":"u1","password":"[redacted]","tags":["\\u001b[31m"]}}'
    expect(stderr).to.equal(
      `Warning: 4 responses have none of the documented fields, such as u1: ${quoted}\n`,
    )
    const json = await get([...ids, '--json'], enveloped)
    expect(JSON.parse(json.stdout)).to.deep.equal(ids.map(() => enveloped))
  })
})

describe('users get with several IDs', () => {
  const sandbox = perSuite(createSandbox)
  const server = perTest(startScriptedServer)

  async function start(script: Script): Promise<HostOptions> {
    await server.serve(script)
    return { service: server }
  }

  async function get(
    args: readonly string[],
    script: Script,
    stdin = '',
    clock: Clock = systemClock,
  ): Promise<Run> {
    const options = await start(script)
    return runChatctl(sandbox, ['users', 'get', ...args], { ...options, stdin, host: { clock } })
  }

  /** Responds for an ID with the given behavior, or with the user of that ID. */
  function users(others: Record<string, Behavior> = {}, ms?: (id: string) => number): Script {
    return {
      choose: ({ path }) => {
        const id = path.split('/').at(-1) ?? ''
        const found = others[id] ?? json(200, userOf(id))
        return ms ? delayed(ms(id), found) : found
      },
    }
  }

  const missing = (id: string) => failing(404, 'not_found', `There is no user ${id}`)
  const idsOf = (stdout: string) =>
    stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => line.split('\t')[0])

  it('prints one header in CSV, and one array in JSON', async () => {
    const csv = await get(['a', 'b', '-o', 'csv', '--fields', 'id,email'], users())
    expect(csv.stdout).to.equal('id,email\na,a@example.com\nb,b@example.com\n')
    await server.close()
    const whole = await get(['a', 'b', '--json'], users())
    expect(JSON.parse(whole.stdout)).to.deep.equal([userOf('a'), userOf('b')])
  })

  it('warns about each user that cannot be read, continues, and exits 9', async () => {
    const script = users({ b: missing('b'), d: failing(403, 'forbidden', 'Not yours') })
    const run = await get(['a', 'b', 'c', 'd', 'e'], script)
    expect(idsOf(run.stdout)).to.deep.equal(['a', 'c', 'e'])
    expect(run.exitCode).to.equal(9)
    expect(run.stderr).to.equal(
      'Warning: Cannot read user b: There is no user b\n' +
        'Warning: Cannot read user d: Not yours\n' +
        'Error: 2 of 5 users could not be read\n',
    )
  })

  it('prints warnings and the error as JSON with --json', async () => {
    const run = await get(['a', 'b', '--json'], users({ b: missing('b') }))
    expect(JSON.parse(run.stdout)).to.deep.equal([userOf('a')])
    const [warning, error] = run.stderr
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(warning).to.deep.equal({ warning: { message: 'Cannot read user b: There is no user b' } })
    expect(error.error).to.deep.include({ code: 'incomplete', message: '1 of 2 users could not be read' })
  })

  it('exits with the common code if all requests fail alike, else with 9', async () => {
    const run = await get(['a', 'b', '--json'], users({ a: missing('a'), b: missing('b') }))
    expect(run).to.include({ exitCode: 6, stdout: '' })
    expect(run.stderr.trimEnd().split('\n')).to.have.length(3)
    await server.close()
    const mixed = await get(['a', 'b'], users({ a: missing('a'), b: failing(403, 'forbidden', 'No') }))
    expectFailure(mixed, 9, '2 of 2 users could not be read')
  })

  it('prints one error if there is only one user', async () => {
    const run = await get(['-'], users({ a: missing('a') }), 'a\n')
    expectFailure(run, 6)
    expect(run.stderr).to.equal(`Error: There is no user a (404, GET ${server.url}/v1/users/a)\n`)
  })

  it('stops immediately if the credential is refused, and keeps earlier rows', async () => {
    const script: Script = {
      choose: (request, index) =>
        index < 3
          ? json(200, userOf(request.path.split('/').at(-1) ?? ''))
          : failing(401, 'unauthorized', 'No'),
    }
    const ids = Array.from({ length: 50 }, (_, index) => `u${index}`)
    for (const form of ['tsv', 'json']) {
      const run = await get(['-', '--concurrency', '1', '-o', form], script, ids.join(' '))
      expect(run.exitCode).to.equal(4)
      expect(run.stdout.match(/u[0-2]@/g)).to.have.length(3)
      expect(server.requests).to.have.length(4)
      await server.close()
    }
  })

  it('stops if the service cannot be reached', async () => {
    const run = await get(['a', 'b', 'c', 'd', '--concurrency', '1', '--retries', '0'], reset)
    expectFailure(run, 69, 'No response from')
    expect(server.requests).to.have.length(1)
  })

  it('exits 75 if the wait is too long, and names the --max-wait to use', async () => {
    const script: Script = {
      choose: (request, index) =>
        index < 2
          ? json(200, userOf(request.path.split('/').at(-1) ?? ''))
          : limited({ 'retry-after': '3600' }),
    }
    const run = await get(['a', 'b', 'c', 'd', '--concurrency', '1'], script)
    expect(run.exitCode).to.equal(75)
    expect(idsOf(run.stdout)).to.deep.equal(['a', 'b'])
    expect(run.stderr).to.contain('--max-wait 1h')
    expect(server.requests).to.have.length(3)
  })

  it('rejects an invalid ID with its location, and sends nothing if it is an argument', async () => {
    const refused = await get(['-', '--concurrency', '1'], users(), '\n\n..\n')
    expectFailure(refused, 2, 'line 3 of stdin: the id must not be ".."')
    await server.close()
    expectFailure(await get(['a', '', 'b'], users()), 2, 'The id must not be empty')
    expect(server.requests).to.have.length(0)
    await server.close()
    expectFailure(await get(['-', '-'], users(), 'a'), 2, 'was given twice')
    await server.close()
    const options = await start(users())
    const run = await runChatctl(sandbox, ['users', 'get', '-'], {
      ...options,
      stdin: Buffer.from('a\n\xff', 'latin1'),
    })
    expect(run).to.include({ exitCode: 2 })
    expect(run.stderr).to.contain('stdin is not UTF-8 text')
  })

  it('rejects a field that no user has before it prints a row', async () => {
    expectFailure(await get(['a', 'b', '--fields', 'id,nmae'], users()), 2, 'Unknown field "nmae"')
    await server.close()
    const some = await get(
      ['a', 'b', '--fields', 'id,x_extra'],
      users({ b: json(200, { ...userOf('b'), x_extra: 1 }) }),
    )
    expect(some.stdout).to.equal('a\t\nb\t1\n')
  })
})

function userOf(id: string) {
  return {
    id,
    email: `${id}@example.com`,
    name: id,
    created_at: '2026-01-02T03:04:05Z',
    metadata: {},
    settings: {},
  }
}
