import { existsSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { composePlan } from '../../../src/system/files/saved-plan.ts'
import { expectFailure, expectSuccess } from '../../support/expect-failure.ts'
import { perTest } from '../../support/lifetime.ts'
import { PlanRun, plans } from './plan-run.ts'

describe('plan approve', () => {
  const run = perTest(() => PlanRun.start())
  const approve = (...words: string[]) => run.chatctl('plan', 'approve', 'a.plan', '--key', 'ada', ...words)
  const isSigned = () => existsSync(join(run.sandbox.home, 'a.plan.sig'))
  const other = 'http://127.0.0.1:1'

  beforeEach(() => {
    run.file('ssh-keygen', '#!/bin/sh\necho signature\n', 0o700)
    run.env['PATH'] = run.sandbox.home
  })

  for (const { command, file, text, value } of plans)
    describe(`for ${command}`, () => {
      beforeEach(async () => {
        run.file(file, text)
        await run.chatctl(command, 'diff', file, '--save', 'a.plan')
      })

      it('shows the service of the plan first, and only that one, and names it in the next command', async () => {
        run.env['CHATCTL_BASE_URL'] = other
        const { stderr } = expectSuccess(await approve('--yes'))
        expect(stderr).to.match(new RegExp(`^Plan for ${run.server.url}/, made \\d{4}-`))
        expect(stderr).to.match(new RegExp(`(PATCH|POST) ${run.server.url}/v1/[\\s\\S]+${value}`))
        expect(stderr).to.include(`chatctl ${command} apply a.plan --base-url ${run.server.url}/`)
        expect(stderr).not.to.include(other)
        await run.chatctl('config', 'set', 'base_url', run.server.url, '--profile', 'team')
        expect((await approve('--yes')).stderr).to.include('apply a.plan --profile team')
      })

      it('signs nothing for the service of another profile or base URL', async () => {
        for (const flag of [`--base-url ${other}`, '--profile local']) {
          if (flag === '--profile local') run.env['CHATCTL_BASE_URL'] = ''
          const words = `The plan a.plan is for ${run.server.url}/, not for `
          const refused = await approve('--yes', ...flag.split(' '))
          expectFailure(refused, 7, words, 'choose the service of the plan')
        }
        expect(isSigned()).to.equal(false)
        expect((await approve('--yes', '--base-url', run.server.url)).exitCode).to.equal(0)
      })

      it('shows no text of a crafted plan as a separate line, and no control character', async () => {
        // Of the header, nothing may be a sentence.
        const isKept = /^(id|action|basis|created_at|tool|service|serial|\w+At)$/
        const craft = (part: unknown): unknown => {
          if (typeof part === 'string') return `${part}\n\u202eFORGED\r\u2028`
          if (Array.isArray(part)) return part.map(craft)
          if (typeof part !== 'object' || part === null) return part
          return Object.fromEntries(
            Object.entries(part).map(([key, inner]) => [key, isKept.test(key) ? inner : craft(inner)]),
          )
        }
        const { format, v: _, checksum: __, ...content } = JSON.parse(run.read('a.plan'))
        const kind = { format, newPlan: 'Make a new plan.' } as const
        for (const screen of [
          ['plan', 'approve', 'a.plan', '--key', 'ada', '--yes'],
          [command, 'diff', 'a.plan'],
        ]) {
          run.file('a.plan', composePlan(kind, craft(content) as typeof content))
          const { stdout, stderr } = expectSuccess(await run.chatctl(...screen))
          expect(stdout + stderr).to.include('\\u202eFORGED')
          expect(stdout + stderr).not.to.match(/^\s*FORGED|[\u202e\u2028\r]/m)
        }
      })

      it('has everything that is signed in JSON, and shows no heading without its content', async () => {
        // A link beside a plan of another user is replaced, not followed.
        run.file('kept', 'content')
        symlinkSync('kept', join(run.sandbox.home, 'a.plan.sig'))
        const { stdout, stderr } = await approve('--yes', '--json')
        expect(readFileSync(join(run.sandbox.home, 'kept'), 'utf8')).to.equal('content')
        const signed = JSON.parse(stdout)
        expect(signed).to.include({ path: 'a.plan.sig', service: `${run.server.url}/` })
        expect(JSON.stringify(signed.requests)).to.include(`${run.server.url}/v1/`).and.include(value)
        expect(stderr).not.to.include('requests:')
      })
    })

  it('warns of a key that is not in the approvers of the profile, also with --base-url', async () => {
    run.file('ssh-keygen', '#!/bin/sh\n[ "$2" = sign ] && echo signature\n', 0o700)
    run.file('settings.yaml', 'app_name: Quince\n')
    await run.chatctl('settings', 'diff', 'settings.yaml', '--save', 'a.plan')
    for (const option of [
      ['base_url', run.server.url],
      ['approvers', run.file('approvers', 'eve ssh-ed25519 AAAA\n')],
    ])
      await run.chatctl('config', 'set', ...option, '--profile', 'team')
    for (const flags of [[], ['--base-url', run.server.url], ['--profile', 'team']])
      expect((await approve('--yes', ...flags)).stderr).to.include('settings apply refuses this signature')
  })

  it('is followed by the advice to make a new plan if the settings have changed', async () => {
    run.file('settings.yaml', 'app_name: Quince\n')
    await run.chatctl('settings', 'diff', 'settings.yaml', '--save', 'a.plan')
    await approve('--yes')
    run.file('settings.yaml', 'app_name: Pear\n')
    await run.chatctl('settings', 'apply', 'settings.yaml', '--yes')
    run.env['CHATCTL_APPROVERS'] = run.file('approvers', 'ada ssh-ed25519 AAAA\n')
    const { stderr } = await run.chatctl('settings', 'apply', 'a.plan', '--yes')
    expect(stderr).to.include('The settings have changed').and.include('settings diff FILE --save PLAN')
    expect(stderr).not.to.include('--refresh')
  })

  it('is refused for a plan whose header has another text than chatctl writes', async () => {
    const forged = '2026-01-02T03:04:05Z by chatctl 1.0.0. Plan for https://other.example/'
    run.file('settings.yaml', 'settings: { app_name: Quince }\napi: { version: v2 }\n')
    await run.chatctl('settings', 'diff', 'settings.yaml', '--save', 'a.plan')
    const { format, v: _, checksum: __, ...content } = JSON.parse(run.read('a.plan'))
    const kind = { format, newPlan: 'Make a new plan.' } as const
    const api = { ...content.plan.api, sentAt: forged }
    const names = ['service', 'created_at', 'tool', 'valid_until', 'serial']
    const parts = names.flatMap((name) => [forged, ['x']].map((value) => ({ [name]: value })))
    for (const part of [...parts, { plan: { ...content.plan, api } }]) {
      run.file('a.plan', composePlan(kind, { ...content, ...part }))
      expectFailure(await approve('--yes'), 2, 'a.plan is not a plan made by chatctl')
      expectFailure(await run.chatctl('settings', 'diff', 'a.plan'), 2, 'not a plan made by chatctl')
    }
    run.file('a.plan', composePlan(kind, content))
    expect((await approve('--yes')).exitCode).to.equal(0)
  })
})
