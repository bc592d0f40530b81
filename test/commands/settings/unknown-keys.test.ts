// biome-ignore-all lint/suspicious/noTemplateCurlyInString: settings files have such references

import { expect } from 'chai'
import { hurriedClock } from '../../client/capture.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { perTest } from '../../support/lifetime.ts'
import { SettingsRun } from './settings-run.ts'

const allow = '--allow-unknown-keys'
const wanted =
  'theme: { mode: dark }\nlimits: { burst: 9 }\nexperimental: { flag: true, list: [1, { a: "x" }], off: null }\n'
const experimental = { flag: true, list: [1, { a: 'x' }] }
const body = { theme: { mode: 'dark' }, limits: { burst: 9 }, experimental }

describe('undocumented settings', () => {
  const run = perTest(() => SettingsRun.start())
  beforeEach(() => {
    run.server.change({ limits: { burst: 5 }, experimental: { flag: false } })
    run.file('settings.yaml', wanted)
  })
  const apply = (...args: string[]) =>
    run.settings(['apply', ...args, '--yes'], { host: { clock: hurriedClock() } })
  const diff = (...args: string[]) => run.settings(['diff', ...args])
  const set = (...args: string[]) => run.settings(['set', ...args])

  it('are refused without --allow-unknown-keys, with the name of the flag', async () => {
    for (const failed of [await diff('settings.yaml'), await apply('settings.yaml')]) {
      expectFailure(failed, 2, 'settings.yaml:2:11: limits.burst is an unknown key', `pass ${allow}`)
      expect(failed.stderr).to.contain('settings.yaml:3:1: experimental is an unknown key')
    }
    const rejected = await set('experimental.flag=true')
    expectFailure(rejected, 2, 'Unknown setting "experimental.flag"', `pass ${allow}`)
    expectFailure(await set('features.chats=true'), 2, 'Did you mean features.chat?', `pass ${allow}`)
    expect(run.server.requests).to.deep.equal([])
  })

  it('are compared like others, and marked', async () => {
    expect((await diff('settings.yaml', allow)).stdout).to.equal(
      [
        '  theme.mode         "light" → "dark"',
        '  limits.burst       5       → 9 (undocumented)',
        '  experimental.flag  false   → true (undocumented)',
        '  experimental.list  none    → [1,{"a":"x"}] (undocumented)',
        '',
        '4 of the 5 keys in the file differ.\n',
      ].join('\n'),
    )
    const change = { path: 'limits.burst', from: 5, to: 9, undocumented: true }
    const { stdout } = await diff('settings.yaml', allow, '--json')
    expect(JSON.parse(stdout).changes[1]).to.deep.equal(change)
    const found = (await diff('settings.yaml', allow, '-o', 'markdown')).stdout
    expect(found).to.contain('\n\nUndocumented: `limits.burst`, `experimental.flag`, `experimental.list`.\n')
  })

  it('are sent and read back', async () => {
    expect((await apply('settings.yaml', allow)).stdout).to.equal(
      'Applied and verified: theme.mode, limits.burst (undocumented), experimental.flag (undocumented), experimental.list (undocumented)\n',
    )
    expect(run.changes).to.deep.equal([{ method: 'PATCH', body }])
    expect((await diff('settings.yaml', allow, '--exit-code')).exitCode).to.equal(0)
  })

  it('are in a plan, which also needs the flag', async () => {
    const saved = await diff('settings.yaml', allow, '--save', 'settings.plan')
    expect(saved.stderr).to.contain(`chatctl settings apply settings.plan ${allow}\n`)
    expect((await diff('settings.plan')).stdout).to.contain('9 (undocumented)')
    const refused = await apply('settings.plan')
    expectFailure(refused, 2, 'settings.plan contains the undocumented setting limits.burst', `pass ${allow}`)
    expect((await apply('settings.plan', allow)).exitCode).to.equal(0)
    expect(run.changes).to.deep.equal([{ method: 'PATCH', body }])
  })

  it('are set from text, and from JSON with :=', async () => {
    const words = ['experimental.name=true', 'experimental.flag:=true', 'extra:={"a":[1.0,null],"b":{"c":5}}']
    expect(await set(allow, 'theme.mode=dark', ...words)).to.include({ exitCode: 0, stderr: '' })
    expect(run.server.requests[1]?.body).to.equal(
      '{"theme":{"mode":"dark"},"experimental":{"name":"true","flag":true},"extra":{"a":[1.0,null],"b":{"c":5}}}',
    )
  })

  it('have names that a path can contain', async () => {
    const names = 'a..b=1 .a=1 a\\.b=1 a[]=1 a:={"b.c":1} a:={} a:={"b":{}} __proto__=1 __proto__.x=1'
    for (const word of names.split(' ')) expectFailure(await set(allow, word), 2)
    expectFailure(await set(allow, 'a=1', 'a.b=2'), 2, 'a.b was given twice, or contradicts another key')
    expectFailure(await set(allow, 'theme=dark'), 2, '"theme" is a group of settings')
    expectFailure(await set(allow, 'theme.mode.x=dark'), 2)
    run.file('dots.yaml', 'experimental: { "a.b": 1 }\n"": 2\nempty:\n')
    const failed = await diff('dots.yaml', allow)
    expectFailure(failed, 2, 'dots.yaml:1:17: experimental.a.b has an empty name, or a name with a dot')
    expect(failed.stderr).to.contain('dots.yaml:3:1: empty has no value')
    expect(run.server.requests).to.deep.equal([])
  })

  it('stay an error in the API configuration, and next to the two parts of a file', async () => {
    run.file('parts.yaml', 'settings: { x: 1 }\napi: { y: 2 }\nz: 3\n')
    const failed = await diff('parts.yaml', allow)
    expectFailure(failed, 2, 'parts.yaml:2:8: api.y is an unknown key')
    expect(failed.stderr).to.contain('parts.yaml:3:1: z is an unknown key').and.not.to.contain(allow)
  })

  it('are overridden by later files, also if one contains the other', async () => {
    run.file('scalar.yaml', 'experimental: 1\n')
    const changes = async (...files: string[]) => {
      const [first = '', ...more] = files.map((name) => `${name}.yaml`)
      const { stdout } = await diff(first, ...more.flatMap((name) => ['-f', name]), allow, '--json')
      return JSON.parse(stdout).changes.map(({ path }: { path: string }) => path)
    }
    expect(await changes('settings', 'scalar')).to.deep.equal(['theme.mode', 'limits.burst', 'experimental'])
    const found = await changes('scalar', 'settings')
    expect(found).to.include('experimental.flag').and.not.to.include('experimental')
    expect(await changes('scalar', 'settings', 'scalar')).to.include('experimental')
  })

  it('expand references in their texts, also in lists', async () => {
    run.file('env.yaml', 'experimental: { name: "${NAME}", list: [{ a: "${NAME}" }] }\n')
    const words = ['diff', 'env.yaml', allow, '--expand-env', '--jq', '[.changes[].to]']
    const shown = await run.settings(words, { env: { NAME: 'x y' } })
    expect(JSON.parse(shown.stdout)).to.deep.equal(['x y', [{ a: 'x y' }]])
  })

  it('show no value of a key that is named like a secret', async () => {
    run.file('secret.yaml', 'smtp: { password: hunter2, list: [{ api_key: hunter2 }] }\n')
    run.server.change({ smtp: { password: 'hunter1' } })
    run.server.patched = (before) => before
    for (const format of ['json', 'markdown', 'csv']) {
      const { stdout } = await diff('secret.yaml', allow, '-o', format)
      expect(stdout).to.contain('[redacted]').and.not.to.contain('hunter')
    }
    const { stdout, stderr } = await apply('secret.yaml', allow, '--json')
    const smtp = { password: 'hunter2', list: [{ api_key: 'hunter2' }] }
    expect(run.changes[0]?.body).to.deep.equal({ smtp })
    expect(stdout + stderr)
      .to.contain('did not take effect')
      .and.not.to.contain('hunter')
  })

  it('can be uncommented in settings edit', async () => {
    const editor = run.file('editor', `#!/bin/sh\nsed -i 's/# burst: 5/burst: 6/' "$1"\n`, 0o700)
    const edit = (...args: string[]) => run.settings(['edit', '--yes', ...args], { env: { EDITOR: editor } })
    expectFailure(await edit(), 2, 'limits.burst is an unknown key', `pass ${allow}`)
    expect((await edit(allow)).stdout).to.equal('Applied and verified: limits.burst (undocumented)\n')
    expect(run.changes).to.deep.equal([{ method: 'PATCH', body: { limits: { burst: 6 } } }])
  })
})
