import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { composePlan } from '../../../src/system/files/saved-plan.ts'
import { expectFailure } from '../../support/expect-failure.ts'
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

  for (const { command, file, text, value } of plans) {
    describe(`for ${command}`, () => {
      beforeEach(async () => {
        run.file(file, text)
        await run.chatctl(command, 'diff', file, '--save', 'a.plan')
      })

      it('shows the service of the plan first, and only that one, and names it in the next command', async () => {
        run.env['CHATCTL_BASE_URL'] = other
        const { exitCode, stderr } = await approve('--yes')
        expect(exitCode, stderr).to.equal(0)
        expect(stderr).to.match(new RegExp(`^Plan for ${run.server.url}/, made \\d{4}-`))
        expect(stderr).to.match(new RegExp(`(PATCH|POST) ${run.server.url}/v1/[\\s\\S]+${value}`))
        expect(stderr).to.include(`chatctl ${command} apply a.plan --base-url ${run.server.url}/`)
        expect(stderr).not.to.include(other)
        const team = ['config', 'set', 'base_url', run.server.url, '--profile', 'team']
        await run.chatctl(...team)
        expect((await approve('--yes')).stderr).to.include('apply a.plan --profile team')
      })

      it('signs nothing for the service of another profile or base URL', async () => {
        for (const flags of [
          ['--base-url', other],
          ['--profile', 'local'],
        ]) {
          if (flags[0] === '--profile') run.env['CHATCTL_BASE_URL'] = ''
          const { exitCode, stderr } = await approve('--yes', ...flags)
          expect(exitCode, stderr).to.equal(7)
          expect(stderr).to.match(new RegExp(`^Error: The plan a.plan is for ${run.server.url}/, not for `))
        }
        expect(isSigned()).to.equal(false)
        expect((await approve('--yes', '--base-url', run.server.url)).exitCode).to.equal(0)
      })

      it('shows no text of a crafted plan as a separate line, and no control character', async () => {
        const craft = (part: unknown): unknown => {
          if (typeof part === 'string') return `${part}\n\u202eFORGED\r\u2028`
          if (Array.isArray(part)) return part.map(craft)
          if (typeof part !== 'object' || part === null) return part
          return Object.fromEntries(
            Object.entries(part).map(([key, inner]) => [
              key,
              /^(id|action|basis)$/.test(key) ? inner : craft(inner),
            ]),
          )
        }
        const { format, v: _, checksum: __, ...content } = JSON.parse(run.read('a.plan'))
        const kind = { format, newPlan: { code: 'save_new_plan' } } as const
        for (const screen of [
          ['plan', 'approve', 'a.plan', '--key', 'ada', '--yes'],
          [command, 'diff', 'a.plan'],
        ]) {
          run.file('a.plan', composePlan(kind, craft(content) as typeof content))
          const { exitCode, stdout, stderr } = await run.chatctl(...screen)
          expect(exitCode, stderr).to.equal(0)
          expect(stdout + stderr).to.include('\\u202eFORGED')
          expect(stdout + stderr).not.to.match(/^\s*FORGED|[\u202e\u2028\r]/m)
        }
      })

      it('has everything that is signed in JSON, and shows no heading without its content', async () => {
        const { stdout, stderr } = await approve('--yes', '--json')
        const signed = JSON.parse(stdout)
        expect(signed).to.include({ path: 'a.plan.sig', service: `${run.server.url}/` })
        expect(JSON.stringify(signed.requests)).to.include(`${run.server.url}/v1/`).and.include(value)
        expect(stderr).not.to.include('requests:')
      })
    })
  }

  it('is refused for a plan whose service, time, or version is not a text', async () => {
    run.file('settings.yaml', 'app_name: Quince\n')
    await run.chatctl('settings', 'diff', 'settings.yaml', '--save', 'a.plan')
    const { format, v: _, checksum: __, ...content } = JSON.parse(run.read('a.plan'))
    const kind = { format, newPlan: { code: 'save_new_plan' } } as const
    for (const name of ['service', 'created_at', 'tool']) {
      run.file('a.plan', composePlan(kind, { ...content, [name]: ['x'] }))
      expectFailure(await approve('--yes'), 2, 'a.plan is not a plan made by chatctl')
    }
  })
})
