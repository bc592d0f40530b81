import { chownSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { makeEmptyDirectory } from '../../support/empty-directory.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { perTest } from '../../support/lifetime.ts'
import { commands } from '../../support/manifest.ts'
import { startChatctl } from '../../support/run-chatctl.ts'
import { until } from '../../support/until.ts'
import { PlanRun } from './plan-run.ts'

/** Changes that a plan could contain, by command. */
const direct: Record<string, string> = {
  'settings set': 'app_name=Quince',
  'settings apply': 'settings.yaml --yes',
  'settings edit': '--yes',
  'settings api set': '--version v2',
  'users create': '--email quince@example.com --no-password',
  'users update': 'usr_1 --name Quince',
  'users import': 'users.jsonl --yes',
  'users apply': 'users.jsonl --yes --no-password',
  'users permissions assign': 'usr_1 --role editor',
  api: 'PATCH /v1/settings --data {}',
}
const calls = ['updateSettings', 'setApiConfiguration', 'createUser', 'updateUser', 'assignPermissions']

describe('with the option approvers, a direct change', () => {
  const run = perTest(() => PlanRun.start())
  beforeEach(() => {
    run.file('settings.yaml', 'app_name: Quince\n')
    run.file('users.jsonl', '{"email":"quince@example.com"}\n')
    run.env['EDITOR'] = 'echo "app_name: Quince" >'
    run.env['CHATCTL_APPROVERS'] = run.file('approvers', '')
  })

  it('is tried with each command that could send what a plan contains', () => {
    const changing = commands.filter(({ requests }) => requests?.calls.some((call) => calls.includes(call)))
    const names = changing.map(({ id }) => id.replaceAll(':', ' '))
    expect(names).to.have.members(Object.keys(direct).filter((name) => name !== 'api'))
  })

  for (const [command, words] of Object.entries(direct))
    it(`is refused with exit code 3 and the command for a plan: ${command}`, async () => {
      const line = [...command.split(' '), ...words.split(' ')]
      const topic = command === 'api' ? 'settings' : line[0]
      const why = 'A direct change is refused, because CHATCTL_APPROVERS requires approved plans'
      const refused = await run.chatctl(...line)
      expectFailure(refused, 3, why, `chatctl ${topic} diff FILE --save PLAN`, `chatctl ${topic} apply PLAN`)
      const shown = JSON.parse((await run.chatctl(...line, '--json')).stderr).error.code
      expect(shown).to.equal('approval_required')
      expect(run.changes).to.deep.equal([])
    })

  for (const [base, path] of [
    ['', '/v1/setting%73'],
    ['', '/v1/chat/../settings'],
    ['', '/v1/settings?at=/v1/chat/'],
    ['', '/v1//Settings'],
    ['', '/v1/a%3f%2f..%2fsettings'],
    ['', '/v1/a%23/..%2fsettings'],
    ['/v1', '/settings'],
    ['/v1/settings/', '/api'],
    ['/v1/chat', '/v1/settings'],
    ['/gateway', '/v1/settings/api/chat/x'],
    ['/gateway/v1', '/chat/..%2fsettings'],
  ] as const)
    it(`is refused by its final URL: ${base} and ${path}`, async () => {
      run.env['CHATCTL_BASE_URL'] += base
      expectFailure(await run.chatctl('api', 'PATCH', path, '--data', '{}'), 3, 'A direct change is refused')
      expect(run.changes).to.deep.equal([])
    })

  it('is refused before a question, also for more rows of one import', async () => {
    const { stderr } = await run.chatctl('users', 'permissions', 'assign', '--file', 'users.jsonl')
    expect(stderr).to.include('A direct change is refused')
    expect((await run.chatctl('settings', 'apply', 'settings.yaml')).stderr).not.to.include('Quince')
  })

  it('is still possible as a dry run, and for your own preferences', async () => {
    const dry = await run.chatctl('settings', 'set', 'app_name=Quince', '--dry-run')
    expect(dry.stdout, dry.stderr).to.include('Quince')
    expect((await run.chatctl('users', 'settings', 'set', '--theme', 'dark')).exitCode).to.equal(0)
    expect(run.changes).to.have.length(1)
  })

  it('is refused with exit code 2 if the variable is empty, as without the secret of a CI job', async () => {
    run.env['CHATCTL_APPROVERS'] = ''
    const refused = await run.chatctl('settings', 'set', 'app_name=Quince')
    expectFailure(refused, 2, 'CHATCTL_APPROVERS is empty', 'unset CHATCTL_APPROVERS')
    expect(run.changes).to.deep.equal([])
  })

  it('is refused by the option of the profile, which no variable replaces', async () => {
    await run.chatctl('config', 'set', 'approvers', 'approvers')
    expect(run.read('.config/chatctl/config.json')).to.include(run.env['CHATCTL_APPROVERS'])
    run.env['CHATCTL_BASE_URL'] = ''
    run.env['CHATCTL_API_KEY'] = ''
    run.env['CHATCTL_APPROVERS'] = '/none'
    const refused = await run.chatctl('settings', 'set', 'app_name=Quince', '--profile', 'local')
    expectFailure(refused, 3, 'because profile local requires', 'diff FILE --save PLAN --profile local')
    expect((await run.chatctl('config', 'get', 'approvers')).stdout).to.match(/\/approvers\n$/)
  })
})

describe('settings apply and users apply with the option approvers', () => {
  const run = perTest(() => PlanRun.start())
  const elsewhere = perTest(makeEmptyDirectory)

  it('need the file of the approvers, which other users cannot write, and ssh-keygen', async () => {
    run.file('settings.yaml', 'app_name: Quince\n')
    await run.chatctl('settings', 'diff', 'settings.yaml', '--save', 'settings.plan')
    run.env['CHATCTL_APPROVERS'] = 'approvers'
    const apply = () => run.chatctl('settings', 'apply', 'settings.plan', '--yes')
    expectFailure(await apply(), 2, 'Cannot read the approvers file ')
    run.file('approvers', '', 0o622)
    expectFailure(await apply(), 2, 'is not used: other users can write to it')
    const approvers = run.file('approvers', '', 0o600)
    if (process.getuid?.() === 0) {
      chownSync(approvers, 1234, 1234)
      expectFailure(await apply(), 2, 'is not used: it belongs to another user')
      // As in the container of a CI job.
      chownSync(run.sandbox.home, 1234, 1234)
      expectFailure(await apply(), 2, 'there is no signature')
      run.env['CHATCTL_APPROVERS'] = join(elsewhere.path, 'approvers')
      writeFileSync(run.env['CHATCTL_APPROVERS'], '')
      chownSync(run.env['CHATCTL_APPROVERS'], 1234, 1234)
      expectFailure(await apply(), 2, 'is not used: it belongs to another user')
      run.env['CHATCTL_APPROVERS'] = 'approvers'
    }
    const hint = 'approve it with: chatctl plan approve PLAN --key KEY'
    expectFailure(await apply(), 2, 'settings.plan is not approved: there is no signature ', hint)
    run.file('settings.plan.sig', 'x')
    run.env['PATH'] = run.sandbox.home
    expectFailure(await apply(), 2, 'ssh-keygen, which was not found', 'Install OpenSSH 8.2 or later.')
    const approve = 'plan approve settings.plan --key key --yes --json'.split(' ')
    expect((await run.chatctl(...approve)).stderr).to.match(/^\{"error":\{"code":"ssh_keygen_missing",/m)
    const seen = (await run.chatctl('settings', 'diff', 'settings.plan')).stderr
    expect(seen).to.contain('refuses this plan here')
    // An interruption does not make a plan unfit.
    run.file('ssh-keygen', '#!/bin/sh\n: > begun\nexec /bin/sleep 600\n', 0o700)
    const diff = startChatctl(run.sandbox, ['settings', 'diff', 'settings.plan'], { env: run.env })
    await until(() => existsSync(join(run.sandbox.home, 'begun')))
    diff.interrupt()
    expect(await diff.ended).to.include({ exitCode: 130, stdout: '' })
    expect(run.changes).to.deep.equal([])
  })
})
