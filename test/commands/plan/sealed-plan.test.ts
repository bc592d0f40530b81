import { statSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { systemClock } from '../../../src/system/clock.ts'
import { expectFailure, expectSuccess } from '../../support/expect-failure.ts'
import { perTest } from '../../support/lifetime.ts'
import { PlanRun, plans } from './plan-run.ts'

describe('settings diff and users diff with --seal', () => {
  const run = perTest(() => PlanRun.start())

  for (const { command, file, text, value, applyFlags } of plans)
    describe(`${command} diff --seal`, () => {
      const chatctl = (...words: string[]) => run.chatctl(command, ...words)
      const save = (...words: string[]) => chatctl('diff', file, '--save', 'a.plan', '--seal', ...words)
      const withKey = ['--seal-key-file', 'seal.key']
      const apply = (...words: string[]) => chatctl('apply', 'a.plan', '--yes', ...applyFlags, ...words)

      beforeEach(async () => {
        run.file(file, text)
        expect((await run.chatctl('config', 'seal-key', 'seal.key')).exitCode).to.equal(0)
        expect((await save(...withKey)).exitCode).to.equal(0)
        run.server.requests.length = 0
      })

      it('writes a plan that contains none of its values, and is private', async () => {
        expect(run.read('a.plan')).to.match(/^\{"format":"chatctl-sealed-plan","v":1,/)
        expect(run.read('a.plan')).not.to.include(value)
        expect(Buffer.from(JSON.parse(run.read('a.plan')).data, 'base64').includes(value)).to.equal(false)
        expect(statSync(join(run.sandbox.home, 'a.plan')).mode & 0o777).to.equal(0o600)
      })

      it('writes a plan that is shown and applied with the key, from a file or a variable', async () => {
        expect((await chatctl('diff', 'a.plan', ...withKey)).stdout).to.include(value)
        run.env['CHATCTL_SEAL_KEY'] = run.read('seal.key').trim()
        expect((await chatctl('diff', 'a.plan')).stdout).to.include(value)
        expect(run.changes).to.deep.equal([])
        expect((await apply()).exitCode).to.equal(0)
        expect(JSON.stringify(run.changes)).to.include(value)
        expectFailure(await apply(), 7, 'was already')
      })

      it('has plans that are refused with a key if they are not sealed, and with an empty variable', async () => {
        await chatctl('diff', file, '--save', 'b.plan')
        run.env['CHATCTL_SEAL_KEY'] = ''
        for (const action of ['diff', 'apply'])
          expectFailure(await chatctl(action, 'b.plan'), 2, 'CHATCTL_SEAL_KEY is empty')
        const replaced = await chatctl('apply', 'b.plan', '--yes', ...applyFlags, ...withKey)
        expectFailure(replaced, 2, 'b.plan is not sealed, although a seal key is given')
        expect(run.changes).to.deep.equal([])
      })

      it('writes a plan that settings apply and users apply refuse without the key and with another one', async () => {
        for (const action of ['diff', 'apply']) {
          const without = await chatctl(action, 'a.plan', '--json')
          expect(JSON.parse(without.stderr).error).to.include({ code: 'sealed' })
          const words = [
            'a.plan is sealed, and no key was given',
            '--seal-key-file FILE or in CHATCTL_SEAL_KEY',
          ]
          expectFailure(await chatctl(action, 'a.plan'), 2, ...words)
        }
        await run.chatctl('config', 'seal-key', 'other.key')
        const refused = await apply('--seal-key-file', 'other.key')
        expectFailure(refused, 2, 'a.plan was sealed with another key than that of --seal-key-file other.key')
        expect(run.changes).to.deep.equal([])
      })

      it('writes a plan that is refused if a byte was altered', async () => {
        const altered = run.read('a.plan').replace(/.(?="\}\n$)/, (last) => (last === 'A' ? 'B' : 'A'))
        run.file('a.plan', altered)
        expectFailure(await apply(...withKey), 2, 'a.plan was changed or truncated after it was sealed\n')
        expect(run.changes).to.deep.equal([])
      })

      it('replaces a plan, sealed or not, and needs a key that is one', async () => {
        expect((await chatctl('diff', file, '--save', 'a.plan')).exitCode).to.equal(0)
        expect(run.read('a.plan')).to.include(value)
        expect((await save(...withKey)).exitCode).to.equal(0)
        expect((await save(...withKey)).exitCode).to.equal(0)
        const refused = await save()
        expectFailure(refused, 2, '--seal requires a key', 'Make a key with: chatctl config seal-key FILE')
        expectFailure(await save('--seal-key-file', file), 2, `--seal-key-file ${file} is not a seal key`)
        const rejected = await chatctl('diff', file, '--save', 'b.plan', ...withKey)
        expectFailure(rejected, 2, '--save with --seal-key-file requires --seal')
      })
    })
})

describe('config seal-key', () => {
  const run = perTest(() => PlanRun.start())

  it('prints a new key, or writes it to a private file, and replaces no file', async () => {
    const { stdout } = await run.chatctl('config', 'seal-key')
    expect(stdout).to.match(/^[\w+/]{43}=\n$/)
    expect((await run.chatctl('config', 'seal-key')).stdout).not.to.equal(stdout)
    const shown = (await run.chatctl('config', 'seal-key', 'a.key')).stdout
    expect(shown).to.equal(join(run.sandbox.home, 'a.key\n'))
    expect(statSync(join(run.sandbox.home, 'a.key')).mode & 0o777).to.equal(0o600)
    const key = run.read('a.key')
    const refused = await run.chatctl('config', 'seal-key', 'a.key')
    expectFailure(refused, 1, 'Cannot write the seal key to ', 'EEXIST')
    expect(run.read('a.key')).to.equal(key)
  })
})

const day = 86_400_000

describe('a plan with --valid-for', () => {
  const run = perTest(() => PlanRun.start())

  for (const { command, file, text, applyFlags } of plans)
    it(`of ${command} shows its last moment, which is signed, and is refused after it`, async () => {
      run.file(file, text)
      const save = (time: string, ...more: string[]) =>
        run.chatctl(command, 'diff', file, '--valid-for', time, ...more)
      expectFailure(await save('7d'), 2, '--save')
      for (const time of ['7', '0d', 'soon', '1e9d']) {
        const words = `"${time}" is not a duration such as 7d or 12h`
        expectFailure(await save(time, '--save', 'a.plan'), 2, words)
      }
      expectSuccess(await save('7d', '--save', 'a.plan'))
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
  const succeeds = async (line: string, machine = 'one') => expectSuccess(await on(machine, line))
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
