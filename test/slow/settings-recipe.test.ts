import { type ChildProcess, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { expect } from 'chai'
import { parse } from 'yaml'
import { perSuite } from '../support/lifetime.ts'
import { binary, runChatctl, startBuilt } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'

const page = readFileSync(resolve(import.meta.dirname, '../../docs/guides/settings-as-code.md'), 'utf8')

/** The fenced code blocks of a language. */
function blocks(language: string): string[] {
  return [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(
    ([, text = '']) => text,
  )
}

/** Runs the scripts of docs/guides/settings-as-code.md unchanged against the embedded service. */
describe('the CI scripts of docs/guides/settings-as-code.md', () => {
  const sandbox = perSuite(createSandbox)
  let service: ChildProcess
  let env: NodeJS.ProcessEnv

  before(async function () {
    if (process.platform === 'win32') return this.skip()
    const bin = join(sandbox.home, 'chatctl')
    writeFileSync(bin, `#!/bin/sh\nexec '${process.execPath}' '${binary}' "$@"\n`)
    chmodSync(bin, 0o755)
    for (const script of blocks('sh')) {
      writeFileSync(join(sandbox.home, /^# (\S+\.sh),/.exec(script)?.[1] ?? 'nameless'), script)
    }
    const made = await runChatctl(sandbox, ['service', 'keys', 'create', '--name', 'ci', '--jq', '.key'])
    service = startBuilt(sandbox, ['service', 'run', '--port', '0', '--log-level', 'silent'])
    const url = await new Promise<string>((done) => {
      service.stdout?.once('data', (chunk) => done(String(chunk).trim()))
    })
    env = {
      ...sandbox.env,
      PATH: [sandbox.home, sandbox.env['PATH']].join(delimiter),
      CHATCTL_BASE_URL: url,
      CHATCTL_API_KEY: made.stdout.trim(),
    }
  })
  after(async () => {
    if (!service) return
    const closed = new Promise((done) => service.once('close', done))
    service.kill('SIGTERM')
    await closed
  })

  const sh = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync('sh', args, { cwd: sandbox.home, env, encoding: 'utf8' })
    return { status, stdout, stderr }
  }
  const write = (text: string) => writeFileSync(join(sandbox.home, 'settings.yaml'), text)

  it('show on a pull request what a merge will change, and change nothing', () => {
    write('theme: { mode: dark }\nlimits: { max_tokens: 8192 }\n')
    const planned = sh('plan.sh')
    expect(planned.status, planned.stderr).to.equal(0)
    expect(planned.stdout).to.match(/theme\.mode +"\w+" +→ "dark"/)
    expect(planned.stdout).to.contain('will change when this is merged')
    expect(existsSync(join(sandbox.home, 'settings.plan'))).to.equal(true)
    expect(sh('-c', 'chatctl settings diff settings.yaml --exit-code').status).to.equal(10)
  })

  it('apply the change on the merge, and have nothing to do after that', () => {
    const applied = sh('apply.sh')
    expect(applied.status, applied.stderr).to.equal(0)
    expect(applied.stdout).to.contain('Applied and verified: theme.mode, limits.max_tokens')
    expect(sh('-c', 'chatctl settings diff settings.yaml --exit-code').status).to.equal(0)
    const again = sh('apply.sh')
    expect(again.status).to.equal(0)
    expect(again.stderr).to.contain('No changes')
    expect(sh('plan.sh').stdout).to.contain('has these settings already')
  })

  it('can apply the plan instead, unless the settings have changed since', () => {
    write('theme: { mode: light }\n')
    expect(sh('plan.sh').status).to.equal(0)
    expect(sh('-c', 'chatctl settings apply settings.plan --yes').status).to.equal(0)
    write('theme: { mode: dark }\n')
    expect(sh('plan.sh').status).to.equal(0)
    expect(sh('-c', 'chatctl settings set theme.mode=system').status).to.equal(0)
    expect(sh('-c', 'chatctl settings apply settings.plan --yes').status).to.equal(7)
  })

  it('fail if the settings file, a value, or the API key is invalid', () => {
    write('theme: { mdoe: dark }\n')
    expect(sh('plan.sh')).to.include({ status: 2, stdout: '' })
    expect(sh('apply.sh')).to.include({ status: 2, stdout: '' })
    write('theme: { mode: purple }\n')
    expect(sh('apply.sh')).to.include({ status: 1, stdout: '' })
    env['CHATCTL_API_KEY'] = 'wrong'
    expect(sh('plan.sh')).to.include({ status: 4, stdout: '' })
  })

  it('are run by the workflow of the guide', () => {
    const workflow = parse(blocks('yaml').find((text) => text.includes('jobs:')) ?? '')
    const { steps } = workflow.jobs.settings
    const scripts = steps.flatMap(({ run }: { run?: string }) => run ?? [])
    expect(scripts).to.deep.equal(['sh plan.sh', 'sh apply.sh'])
    for (const run of scripts) expect(existsSync(join(sandbox.home, run.slice(3)))).to.equal(true)
  })
})

describe('the settings files in docs/guides/settings-as-code.md', () => {
  it('are valid', async () => {
    const files = blocks('yaml').filter((text) => !text.includes('jobs:'))
    expect(files).to.have.length(3)
    const { readSettingsFiles } = await import('../../src/settings/file/read-settings-files.ts')
    for (const text of files) readSettingsFiles([{ name: 'settings.yaml', text }])
  })
})
