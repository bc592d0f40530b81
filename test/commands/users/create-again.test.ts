import { expect } from 'chai'
import { expectFailure } from '../../support/expect-failure.ts'
import { UsersHandler, type UsersOptions } from '../../support/handlers/users.ts'
import { perTest } from '../../support/lifetime.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import {
  type Behavior,
  failing,
  json,
  type Served,
  serveHandler,
  startScriptedServer,
} from '../../support/scripted-server.ts'

describe('users create for an email that was created from this machine before', () => {
  const sandbox = perTest(createSandbox)
  let server: Served<UsersHandler>
  const serve = async (options: UsersOptions = {}) => {
    server = await serveHandler(new UsersHandler({ allowsDuplicates: true, ...options }))
  }
  afterEach(() => server.close())

  const create = (...flags: string[]) =>
    runChatctl(sandbox, ['users', 'create', '--email', 'Ada@x.org', '--no-password', ...flags], {
      service: server,
    })
  const ids = () => server.report().creates.get('Ada@x.org')?.ids ?? []

  it('exits 7 with the hint of a 409 if the user exists, and names several IDs', async () => {
    await serve()
    expect((await create()).exitCode).to.equal(0)
    for (const flags of [[], ['--dry-run']]) {
      const again = await create(...flags)
      expectFailure(
        again,
        7,
        `and exists with the ID "${ids()[0]}"`,
        `chatctl users get ${ids()[0]}`,
        '--allow-duplicates',
      )
    }
    const change = `chatctl users update ${ids()[0]} --name Ada`
    expectFailure(await create('--name', 'Ada'), 7, change)
    expect(ids()).to.have.length(1)
    expect((await create('--allow-duplicates')).exitCode).to.equal(0)
    const [first, second] = ids()
    expectFailure(await create(), 7, `the IDs "${second}" and "${first}"`, 'chatctl users get ID')
    server.remove(second ?? '')
    expectFailure(await create(), 7, `exists with the ID "${first}"`, `chatctl users get ${first}`)
  })

  it('creates the user if the service has no such user any more, or the user has another email', async () => {
    await serve()
    await create()
    server.remove(ids()[0] ?? '')
    const again = await create()
    expect(again.exitCode, again.stderr).to.equal(0)
    expect(again.stderr).to.contain('with this email before, and no longer exists.')
    const [, second = ''] = ids()
    Object.assign(server.report().users.get(second) ?? {}, { email: 'other@x.org' })
    expect((await create()).stderr)
      .to.contain(`The user "${second}"`)
      .and.contain('has another email now.')
    expect(ids()).to.have.length(3)
  })

  it('exits 7 if the ID of the user is not known', async () => {
    await serve({ idIn: ['nowhere'] })
    await create()
    expectFailure(await create(), 7, 'its ID is not known', 'chatctl users get ID', '--allow-duplicates')
  })

  it('sends nothing if the user cannot be read', async () => {
    await serve()
    const get = async (behavior: Behavior) => {
      await using other = await startScriptedServer(json(201, { id: 'u1' }))
      const line = ['users', 'create', '--email', 'a@x.org', '--no-password']
      await runChatctl(sandbox, line, { service: other })
      await other.serve(behavior)
      const run = await runChatctl(sandbox, line, { service: other })
      expect(other.requests.map(({ method }) => method)).to.deep.equal(['GET'])
      return run
    }
    const words = 'Cannot check whether the user "u1" still exists with this email: '
    expectFailure(await get(failing(403, 'forbidden', 'No')), 5, words, '--allow-duplicates')
    expectFailure(await get(json(200, [])), 1, words, '--allow-duplicates')
  })

  it('names the command that checks after a lost response, and warns before a second attempt', async () => {
    await serve({ fates: { lost: 1 } })
    const lost = await create()
    expectFailure(lost, 69, 'chatctl users list', 'before you create the user again')
    server.endFates()
    const again = await create()
    expect(again.exitCode, again.stderr).to.equal(0)
    expect(again.stderr).to.contain('An earlier request may have created Ada@x.org')
  })
})
