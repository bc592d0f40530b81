import { execFileSync } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { expect } from 'chai'
import { PlanRun, plans } from '../commands/plan/plan-run.ts'
import { expectFailure } from '../support/expect-failure.ts'
import { perTest } from '../support/lifetime.ts'
import { describeSample } from '../support/take-sample.ts'
import { Tmux } from './tmux.ts'

/** Plans that are approved with the keys and the program of OpenSSH. */
describeSample('an approved plan', 6, () => {
  const run = perTest(() => PlanRun.start())
  const keygen = (...words: string[]) =>
    execFileSync('ssh-keygen', words, { cwd: run.sandbox.home, stdio: 'pipe' })
  const makeKey = (name: string, passphrase = '') => {
    keygen('-q', '-t', 'ed25519', '-N', passphrase, '-C', name, '-f', name)
    return run.read(`${name}.pub`).split(' ').slice(0, 2).join(' ')
  }
  const approve = (plan: string, key = 'ada', ...words: string[]) =>
    run.chatctl('plan', 'approve', plan, '--key', key, '--yes', ...words)
  const approvers = (...lines: string[]) => run.file('approvers', `${lines.join('\n')}\n`)
  const saveSettings = (plan = 'a.plan') =>
    run.chatctl('settings', 'diff', run.file('settings.yaml', 'app_name: Quince\n'), '--save', plan)
  let ada = ''
  beforeEach(() => {
    ada = makeKey('ada')
    run.env['CHATCTL_APPROVERS'] = approvers(`ada@example.com namespaces="chatctl-plan" ${ada}`)
  })

  for (const { command, file, text, value, applyFlags } of plans) {
    describe(`of ${command}`, () => {
      const save = (...words: string[]) => run.chatctl(command, 'diff', file, '--save', 'a.plan', ...words)
      const apply = (...words: string[]) =>
        run.chatctl(command, 'apply', 'a.plan', '--yes', ...applyFlags, ...words)
      /** Expects that the plan is refused with a code, and that nothing is sent. */
      const isRefused = async (code: string, ...words: string[]) => {
        expectFailure(await apply(), 2, 'a.plan is not approved: ', ...words)
        const { stderr } = await apply('--json')
        expect(JSON.parse(stderr).error).to.include({ code })
        expect(run.changes).to.deep.equal([])
      }

      beforeEach(async () => {
        run.file(file, text)
        await save()
      })

      it('is shown, signed, and then applied, and says who has approved it', async () => {
        const approved = await approve('a.plan')
        expect(approved).to.include({ exitCode: 0, stdout: 'a.plan.sig\n' })
        expect(approved.stderr).to.include(value).and.include(`chatctl ${command} apply a.plan`)
        expect(approved.stderr).not.to.include('Replaced')
        // What is signed is shown, also if the differences of the plan do not have it.
        expect(approved.stderr).to.match(/The requests?:[\s\S]+(PATCH|POST) http/)
        const check = 'ssh-keygen -Y check-novalidate -n chatctl-plan -s a.plan.sig < a.plan'
        execFileSync('sh', ['-c', check], { cwd: run.sandbox.home, stdio: 'pipe' })
        const applied = await apply()
        expect(applied.exitCode, applied.stderr).to.equal(0)
        expect(applied.stderr).to.include('a.plan is approved by ada@example.com.')
        expect(run.changes.join('\n')).to.include(value)
      })

      it('can be sealed: the approver needs the key of the seal, and the signature is that of the file', async () => {
        await run.chatctl('config', 'seal-key', 'seal.key')
        const withKey = ['--seal-key-file', 'seal.key']
        await save('--seal', ...withKey)
        expectFailure(await approve('a.plan'), 2, 'a.plan is sealed, and no key was given')
        const approved = await approve('a.plan', 'ada', ...withKey)
        expect(approved.stderr).to.include(value)
        expect((await apply(...withKey)).exitCode).to.equal(0)
      })

      it('is refused without a signature, and with a file that is none', async () => {
        await isRefused('unsigned', 'there is no signature ')
        run.file('a.plan.sig', 'x')
        await isRefused('invalid_signature', 'ssh-keygen refuses its signature')
      })

      it('is refused with the signature of a key that is not in the file', async () => {
        makeKey('eve')
        const { exitCode, stderr } = await approve('a.plan', 'eve')
        expect(exitCode, stderr).to.equal(0)
        expect(stderr).to.include(
          `Warning: ${command} apply refuses this signature: a.plan is not approved: `,
        )
        await isRefused('unknown_approver', 'the key that signed it is not of an approver')
        approvers(`ada@example.com namespaces="git" ${ada}`)
        await approve('a.plan')
        await isRefused('unknown_approver')
      })

      it('is applied if the key is also on earlier lines, for another purpose or expired', async () => {
        approvers(
          `git@example.com namespaces="git" ${ada}`,
          `old@example.com,older@example.com valid-before="20200101" ${ada}`,
          `# ada@example.com namespaces="git" ${ada}`,
          `"ada@example.com" namespaces="chatctl-plan" ${ada}`,
        )
        expect((await approve('a.plan')).stderr).to.include('a.plan is approved by ada@example.com.')
        expect((await apply()).stderr).to.include('a.plan is approved by ada@example.com.')
        expect(run.changes).not.to.deep.equal([])
      })

      it('is refused with the signature of another plan', async () => {
        await approve('a.plan')
        const signature = run.read('a.plan.sig')
        await save()
        run.file('a.plan.sig', signature)
        await isRefused('other_content', 'its signature is for other content')
      })

      it('is refused with a signature for another purpose', async () => {
        keygen('-Y', 'sign', '-n', 'file', '-f', 'ada', 'a.plan')
        await isRefused('other_namespace', 'its signature is not one of a plan')
      })

      it('is refused if the key has expired, or is not valid yet', async () => {
        await approve('a.plan')
        for (const dates of ['valid-before="20200101"', 'valid-after="29990101"']) {
          approvers(`ada@example.com ${dates} ${ada}`)
          await isRefused('approval_expired', 'the key that signed it is not valid now')
        }
        approvers(`ada@example.com valid-before="29990101" ${ada}`)
        expect((await apply()).exitCode).to.equal(0)
      })
    })
  }

  it('gets a new signature in place of the earlier one, or of a link, and says so', async () => {
    await saveSettings()
    symlinkSync(run.file('other', 'kept'), `${run.sandbox.home}/a.plan.sig`)
    for (const _ of [1, 2])
      expect((await approve('a.plan')).stderr).to.include('Replaced the earlier a.plan.sig.')
    expect(run.read('other')).to.equal('kept')
    expect((await run.chatctl('settings', 'apply', 'a.plan', '--yes')).exitCode).to.equal(0)
  })

  it('is still refused with a flag that sends more than the plan', async () => {
    await saveSettings('settings.plan')
    await approve('settings.plan')
    const refreshed = await run.chatctl('settings', 'apply', 'settings.plan', '--yes', '--refresh')
    expectFailure(refreshed, 3, '--refresh is refused, because CHATCTL_APPROVERS requires approved plans')
    run.file('users.jsonl', '{"email":"quince@example.com"}\n')
    await run.chatctl('users', 'diff', 'users.jsonl', '--save', 'users.plan')
    await approve('users.plan')
    for (const flag of ['--recreate-missing', '--retry-unknown'])
      expectFailure(await run.chatctl('users', 'apply', 'users.plan', '--yes', flag), 3, `${flag} is refused`)
  })

  it('is announced by settings diff, which says that settings apply refuses a plan without approval', async () => {
    await saveSettings()
    const before = await run.chatctl('settings', 'diff', 'a.plan')
    expect(before.stderr).to.include('settings apply refuses this plan here: a.plan is not approved')
    await approve('a.plan')
    expect((await run.chatctl('settings', 'diff', 'a.plan')).stderr).to.equal(
      'a.plan is approved by ada@example.com.\n',
    )
  })

  it('requires a confirmation, a plan, and a key', async () => {
    await saveSettings()
    expectFailure(await run.chatctl('plan', 'approve', 'a.plan', '--key', 'ada'), 3, 'Sign a.plan with ada?')
    expectFailure(await approve('settings.yaml'), 2, 'settings.yaml is not a plan file')
    expectFailure(await approve('a.plan', 'none'), 2, 'Cannot sign a.plan with none: ', 'No such file')
    expectFailure(await run.chatctl('plan', 'approve', 'a.plan'), 2, '--key')
  })

  it('can be signed with a passphrase, which ssh-keygen asks for in the terminal', async () => {
    const eve = makeKey('eve', 'open sesame')
    approvers(`eve@example.com ${eve}`)
    await saveSettings()
    await using terminal = await Tmux.start(run.sandbox, ['plan', 'approve', 'a.plan', '--key', 'eve'])
    expect(await terminal.waitFor('Sign a.plan with eve?')).to.include('"Chat" → "Quince"')
    await terminal.say('y')
    await terminal.waitFor('Enter passphrase')
    await terminal.say('open sesame')
    await terminal.waitFor('a.plan.sig')
    expect(await terminal.exitCode()).to.equal(0)
    expect((await run.chatctl('settings', 'apply', 'a.plan', '--yes')).exitCode).to.equal(0)
  })
})
