import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { expectFailure } from '../../support/expect-failure.ts'
import { historyService, plainReading } from '../../support/handlers/history.ts'
import { perTest } from '../../support/lifetime.ts'
import { runChatctl, startChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { failing, json, type RecordedRequest, startScriptedServer } from '../../support/scripted-server.ts'
import { storeKey } from '../../support/sign-in.ts'
import { until } from '../../support/until.ts'

describe('what two users have in one profile', () => {
  const sandbox = perTest(createSandbox)
  /** The number of pages before a service fails. */
  let allowed: number
  const userOf = ({ headers }: RecordedRequest) => headers.authorization?.replace('Bearer key-of-', '') ?? ''
  const server = perTest(() =>
    startScriptedServer({
      choose: (request, index) => {
        const id = userOf(request)
        if (request.path === '/api/user/profile') return json(200, { id })
        if (allowed-- <= 0) return failing(403, 'forbidden', 'No more')
        const messages = [1, 2, 3].map((minute) => ({
          ...{ id: `${id}-${minute}`, role: 'user', content: `ibex of ${id}` },
          created_at: `2026-01-01T00:0${minute}:00Z`,
        }))
        return historyService({ ...plainReading, largest: 1 }, messages).choose(request, index)
      },
    }),
  )
  const history = (...args: string[]) => runChatctl(sandbox, ['history', ...args, '-p', 'work'])
  const asBob = (...args: string[]) =>
    runChatctl(sandbox, ['history', ...args, '-p', 'work'], { env: { CHATCTL_API_KEY: 'key-of-bob' } })
  /** In a terminal, confirms. */
  async function agree(question: string, ...args: string[]) {
    const words = ['history', ...args, '-p', 'work']
    const running = startChatctl(sandbox, words, { terminal: { columns: 400 } })
    await until(() => running.written().stderr.includes('(y/N)'))
    expect(running.written().stderr).to.include(question)
    running.stdin.write('y\r')
    return running.ended
  }
  beforeEach(async () => {
    allowed = Number.POSITIVE_INFINITY
    await storeKey(sandbox, 'key-of-alice', server)
  })

  it('is a mirror of the user who filled it, also with a key of the environment', async () => {
    expect((await asBob('sync')).exitCode).to.equal(0)
    const both = ['is of the user bob', 'you are the user alice']
    for (const command of [['search', 'ibex'], ['search', 'ibex', '--stored'], ['sync']])
      expectFailure(await history(...command), 7, ...both)
    expect((await asBob('search', 'ibex')).stdout).to.include('ibex of bob')
    expect((await history('search', 'ibex', '--local')).exitCode).to.equal(0)
    expect((await agree('Search it nevertheless?', 'search', 'ibex')).stdout).to.include('of bob')
    expect((await agree('Replace the mirror?', 'sync')).exitCode).to.equal(0)
    expect((await history('search', 'ibex')).stdout)
      .to.include('of alice')
      .and.not.include('of bob')
    expectFailure(await asBob('search', 'ibex'), 7, 'is of the user alice', 'you are the user bob')
    const all = await runChatctl(sandbox, ['history', 'sync', '--full', '-p', 'work', '--json'])
    expect(JSON.parse(all.stdout)).to.include({ messages: 3, added: 0, removed: 0, user_id: 'alice' })
  })

  it('are pages of an export that only the user resumes who began it', async () => {
    allowed = 2
    await history('export')
    const pages = () => readdirSync(join(sandbox.home, '.local/state/chatctl/state/exports'))
    expect(pages()).to.have.lengthOf(1)
    allowed = Number.POSITIVE_INFINITY
    await storeKey(sandbox, 'key-of-bob', server)
    expect((await history('export')).stdout)
      .to.include('of bob')
      .and.not.include('of alice')
    expect(pages()).to.have.lengthOf(1)
    await storeKey(sandbox, 'key-of-alice', server)
    const resumed = await history('export')
    expect(pages()).to.deep.equal([])
    expect(resumed.stdout.match(/of alice/g)).to.have.lengthOf(3)
  })
})
