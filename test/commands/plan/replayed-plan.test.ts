import { join } from 'node:path'
import { expect } from 'chai'
import { systemClock } from '../../../src/system/clock.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { perTest } from '../../support/lifetime.ts'
import { PlanRun, plans } from './plan-run.ts'

const day = 86_400_000

describe('a plan with --valid-for', () => {
  const run = perTest(() => PlanRun.start())

  for (const { command, file, text, applyFlags } of plans)
    it(`of ${command} shows its last moment, which is signed, and is refused after it`, async () => {
      run.file(file, text)
      const save = (time: string, ...more: string[]) =>
        run.chatctl(command, 'diff', file, '--valid-for', time, ...more)
      expectFailure(await save('7d'), 2, '--save')
      for (const time of ['7', '0d', 'soon', '1e9d'])
        expectFailure(
          await save(time, '--save', 'a.plan'),
          2,
          `"${time}" is not a duration such as 7d or 12h`,
        )
      expect((await save('7d', '--save', 'a.plan')).exitCode).to.equal(0)
      const { created_at: begin, valid_until: end } = JSON.parse(run.read('a.plan'))
      expect(Date.parse(end) - Date.parse(begin)).to.equal(7 * day)
      const approve = () => run.chatctl('plan', 'approve', 'a.plan', '--key', 'none')
      expect((await approve()).stderr).to.include(`It is valid until ${end}.`)
      const apply = () => run.chatctl(command, 'apply', 'a.plan', '--yes', ...applyFlags)
      run.clock = { ...systemClock, now: () => systemClock.now() + 7 * day }
      for (const refused of [await apply(), await approve()])
        expectFailure(refused, 7, `The plan a.plan was valid until ${end}`, '--save PLAN')
      expect(run.changes).to.deep.equal([])
      run.clock = { ...systemClock, now: () => systemClock.now() + 6 * day }
      expect((await apply()).exitCode).to.equal(0)
    })
})

describe('a plan that is applied on another machine', () => {
  const run = perTest(() => PlanRun.start())
  const on = (machine: string, line: string) => {
    run.env['XDG_STATE_HOME'] = join(run.sandbox.home, machine)
    return run.chatctl(...line.split(' '))
  }
  const succeeds = async (line: string, machine = 'one') => {
    const { exitCode, stderr } = await on(machine, line)
    expect(exitCode, `${line}: ${stderr}`).to.equal(0)
  }
  const moved =
    /^Error: The (settings|state file \S+) (has|have) changed since the plan ([ab]\.plan )?was saved \(serial \S+, now \S+\)/

  beforeEach(() => {
    run.env['CHATCTL_BASE_URL'] = ''
    run.env['CHATCTL_API_KEY'] = ''
    run.env['CHATCTL_PROFILE'] = 'local'
    run.file('settings.yaml', 'settings: { app_name: Quince }\napi: { version: v2 }\n')
  })

  for (const change of [
    'settings set app_name=Chat',
    'settings set theme.mode=dark',
    'settings api set --version v1',
  ])
    it(`is refused after another change of the settings of the embedded service: ${change}`, async () => {
      await succeeds('settings diff settings.yaml --save a.plan')
      await succeeds('settings set app_name=Pear', 'other')
      await succeeds('settings set app_name=Chat', 'other')
      await succeeds('settings diff settings.yaml --save b.plan')
      await succeeds(change, 'other')
      for (const plan of ['a.plan', 'b.plan'])
        expectFailure(await on('third', `settings apply ${plan} --yes`), 7, moved, '--refresh')
      await succeeds('settings apply a.plan --yes --refresh', 'third')
    })

  it('is refused if it was applied, and each of its parts can be applied once on one machine', async () => {
    await succeeds('settings diff settings.yaml --save a.plan')
    await succeeds('settings apply a.plan --yes --only settings')
    expectFailure(await on('other', 'settings apply a.plan --yes --only api'), 7, moved)
    await succeeds('settings apply a.plan --yes --only api')
    await succeeds('settings set app_name=Chat')
    expectFailure(await on('other', 'settings apply a.plan --yes'), 7, moved)
  })

  it('is refused if the state file has moved, also by the changes of the plan', async () => {
    const name = (text: string) => run.file('users.yaml', `[{ email: ada@example.com, name: ${text} }]`)
    name('Ada')
    await succeeds('users apply users.yaml --results new.csv --yes')
    name('Eve')
    await succeeds('users diff users.yaml --save a.plan')
    await succeeds('users diff users.yaml --limit-reads 1 --save b.plan')
    expectFailure(await on('one', 'users apply a.plan --yes'), 7, moved)
    await succeeds('users apply b.plan --yes')
    name('Ada')
    await succeeds('users apply users.yaml --yes')
    expectFailure(await on('other', 'users apply b.plan --yes'), 7, moved, '--state')
  })
})
