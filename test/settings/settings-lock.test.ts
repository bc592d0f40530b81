import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { Client } from '../../src/client/client.ts'
import { Failure } from '../../src/contract/failure.ts'
import type { Run } from '../../src/run/run.ts'
import { type ApplyOptions, confirmAndApply } from '../../src/settings/apply/apply-plan.ts'
import { withSettingsLock } from '../../src/settings/apply/settings-lock.ts'
import { makePlan } from '../../src/settings/plan.ts'
import { systemClock } from '../../src/system/clock.ts'
import { hurriedClock, reasonOf } from '../client/capture.ts'
import { lay, SettingsHandler } from '../support/handlers/settings.ts'
import { perTest } from '../support/lifetime.ts'
import { serveHandler } from '../support/scripted-server.ts'
import { barrier } from '../support/until.ts'
import { anyRun } from './any-run.ts'
import { someSettings } from './any-settings.ts'
import { useStateDirectory } from './state-directory.ts'

describe('two concurrent changes of the settings of one service', () => {
  const state = useStateDirectory()
  const server = perTest(() => serveHandler(Object.assign(new SettingsHandler(), { settings: someSettings })))
  let client: Client
  let told: string[]
  beforeEach(() => {
    client = new Client({ baseUrl: server.url, internal: { clock: hurriedClock() } })
    told = []
  })
  afterEach(() => client.close())

  const runOf = (parts: Partial<Run>) =>
    anyRun({
      directories: state.directories,
      clock: hurriedClock(),
      connect: async () => client,
      say: (words) => void told.push(words),
      warn: async (words) => void told.push(words),
      ...parts,
    })
  const filed = (mode: string) => ({ settings: { theme: { mode } }, api: {} })
  const carry = (mode: string, confirm: () => Promise<void>, more: Partial<ApplyOptions> = {}) => {
    const plan = makePlan(server.url, filed(mode), someSettings, {}, systemClock)
    const run = runOf({ service: server.url, confirm })
    return confirmAndApply(run, plan, { yes: false, hint: '', ...more })
  }
  const patches = () => server.requests.filter(({ method }) => method === 'PATCH').map(({ body }) => body)

  it('run one after the other, so that the second is refused if its keys have changed', async () => {
    const confirm = barrier(2)
    const outcomes = await Promise.allSettled([carry('dark', confirm), carry('contrast', confirm)])
    const [refusal, ...others] = outcomes.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
    expect(others).to.deep.equal([])
    expect(refusal).to.be.instanceOf(Failure)
    expect((refusal as Failure).kind).to.equal('conflict')
    expect((refusal as Failure).message).to.match(
      /^The settings have changed since the differences were shown, or the plan was saved: theme\.mode was "light"/,
    )
    expect(patches()).to.have.length(1)
    expect(told.join()).to.match(/^Waiting for another chatctl process [^,]+$/)
  })

  it('both succeed if the second can make a new plan', async () => {
    const confirm = barrier(2)
    const refresh = filed('x')
    await Promise.all([carry('x', confirm, { refresh }), carry('dark', confirm, { refresh })])
    expect(server.settings).to.deep.equal(lay(someSettings, { theme: { mode: 'x' } }))
  })

  it('wait for each other even after a failure, but not for another service', async () => {
    const order: string[] = []
    const hold = (name: string, to: string, work: () => Promise<void>) =>
      withSettingsLock(runOf({ service: to }), async () => {
        order.push(`${name} begins`)
        await work()
        order.push(`${name} ends`)
      })
    let fail = (): void => {}
    const failed = new Promise<void>((_, reject) => {
      fail = () => reject(new Error('broken'))
    })
    const first = hold('first', 'a', () => failed)
    const second = hold('second', 'a', async () => {})
    await hold('other', 'b', async () => {})
    expect(order).to.deep.equal(['first begins', 'other begins', 'other ends'])
    fail()
    expect(await reasonOf(first)).to.have.property('message', 'broken')
    await second
    expect(order.slice(3)).to.deep.equal(['second begins', 'second ends'])
  })

  it('stop on an interruption while one waits for the other', async () => {
    const abort = new AbortController()
    const reason = await withSettingsLock(runOf({}), () => {
      const waiting = withSettingsLock(runOf({ signal: abort.signal }), async () => {})
      setImmediate(() => abort.abort(new Error('ended')))
      return reasonOf(waiting)
    })
    expect(reason).to.equal(abort.signal.reason)
  })

  it('run with a warning if the lock cannot be created', async () => {
    mkdirSync(join(state.home(), '.local'), { recursive: true })
    writeFileSync(join(state.home(), '.local', 'state'), 'in the way')
    expect(await withSettingsLock(runOf({}), async () => 'done')).to.equal('done')
    expect(told.join()).to.match(/^Cannot lock the settings, .+: .+ \(ENOTDIR\)$/)
  })
})
