import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { parse } from 'yaml'
import { archiveName } from '../../scripts/release/describe-release.ts'
import { root } from '../scripts/package-file.ts'
import { answer, startFaultServer } from '../support/fault-server.ts'
import { perSuite, perTest } from '../support/lifetime.ts'
import type { Run } from '../support/run-chatctl.ts'
import { runProgram } from '../support/run-program.ts'
import { createSandbox } from '../support/sandbox.ts'
import { SettingsService } from '../support/settings-service.ts'
import { ownTarget, releaseKey, serveRelease } from './served-release.ts'

interface Action {
  inputs: Record<string, { default: string }>
  outputs: Record<string, { value: string }>
  runs: { steps: { id: string; shell: string; env: Record<string, string>; run: string }[] }
}

const action: Action = parse(readFileSync(join(root, 'action.yml'), 'utf8'), { strict: true })

describe('the GitHub Action', () => {
  const release = perSuite(() => serveRelease())
  const sandbox = perTest(createSandbox)
  const service = perTest(async () => {
    const settings = new SettingsService()
    return { settings, ...(await startFaultServer(settings.script)) }
  })
  const runner = () => join(sandbox.home, 'runner')
  const written = (name: string) => readFileSync(join(runner(), name), 'utf8')
  const changes = () => service.requests.filter(({ method }) => method !== 'GET')

  beforeEach(() => {
    mkdirSync(join(runner(), 'temp'), { recursive: true })
    for (const name of ['path', 'output', 'summary']) writeFileSync(join(runner(), name), '')
    writeFileSync(join(sandbox.home, 'settings.yaml'), 'theme: {mode: dark}\n')
  })
  afterEach(() => release.otherwise.clear())

  /** What the action uses of this repository, with the public key of the release. */
  function checkout(): string {
    const path = join(sandbox.home, 'action')
    for (const name of ['package.json', 'scripts/release/run-action.sh', 'scripts/release/install.sh'])
      cpSync(join(root, name), join(path, name))
    writeFileSync(join(path, 'scripts/release/allowed_signers'), `# Comment\n${releaseKey().signers}\n`)
    return path
  }

  /** Runs the step as the runner does: expressions are evaluated in `env` only. */
  function run(inputs: Record<string, string> = {}, env: NodeJS.ProcessEnv = {}): Promise<Run> {
    const [step] = action.runs.steps
    const values: Record<string, string> = { 'github.action_repository': 'acme/chatctl' }
    for (const [name, input] of Object.entries(action.inputs))
      values[`inputs.${name}`] = inputs[name] ?? input.default
    const evaluated = Object.entries(step?.env ?? {}).map(([name, text]) => [
      name,
      text.replaceAll(/\$\{\{ (\S+) \}\}/g, (_, expression) => {
        expect(values, expression).to.have.property(expression)
        return values[expression] ?? ''
      }),
    ])
    const script = join(runner(), 'step.sh')
    writeFileSync(script, step?.run ?? '')
    return runProgram(sandbox, [script], {
      program: ['sh', '-e'],
      env: {
        GITHUB_ACTION_PATH: checkout(),
        GITHUB_SERVER_URL: new URL(release.url).origin,
        GITHUB_REPOSITORY: 'acme/app',
        GITHUB_PATH: join(runner(), 'path'),
        GITHUB_OUTPUT: join(runner(), 'output'),
        GITHUB_STEP_SUMMARY: join(runner(), 'summary'),
        RUNNER_TEMP: join(runner(), 'temp'),
        CHATCTL_API_KEY: 'sk-test',
        CHATCTL_BASE_URL: service.url,
        ...Object.fromEntries(evaluated),
        ...env,
      },
    })
  }

  it('passes each input by the environment, and none in a command', () => {
    const [step, ...others] = action.runs.steps
    expect(others).to.deep.equal([])
    expect(step?.run).not.to.contain('${{')
    for (const name of Object.keys(action.inputs))
      expect(Object.values(step?.env ?? {})).to.include(`\${{ inputs.${name} }}`)
    for (const [name, { value }] of Object.entries(action.outputs))
      expect(value).to.equal(`\${{ steps.${step?.id}.outputs.${name} }}`)
  })

  it('only installs chatctl if no files are given', async () => {
    expect((await run()).exitCode).to.equal(0)
    const directory = written('path').trim()
    expect(readdirSync(directory)).to.deep.equal(['chatctl'])
    expect(written('output')).to.equal(`version=${release.version}\n`)
    expect(service.requests).to.deep.equal([])
  })

  it('shows the changes in the job summary, and sends none', async () => {
    const { exitCode, stderr } = await run({ files: '\n  settings.yaml\n\n' })
    expect(exitCode, stderr).to.equal(0)
    expect(written('summary')).to.contain('| `theme.mode` | `"light"` | `"dark"` |')
    expect(written('output')).to.contain('changed=true\n')
    expect(changes()).to.deep.equal([])
    expect(stderr).not.to.contain('settings.plan')
    expect(readdirSync(written('path').trim())).to.deep.equal(['chatctl'])
  })

  it('applies what the summary shows, and reports no change in the next run', async () => {
    const inputs = { files: 'settings.yaml', apply: 'true', strict: 'true', 'base-url': service.url }
    const first = await run(inputs, { CHATCTL_BASE_URL: '' })
    expect(first.exitCode, first.stderr).to.equal(0)
    expect(changes().map(({ method, body }) => [method, body])).to.deep.equal([
      ['PATCH', '{"theme":{"mode":"dark"}}'],
    ])
    const second = await run(inputs)
    expect(second.exitCode).to.equal(0)
    expect(written('output')).to.match(/changed=true\n.*\nchanged=false\n$/)
    expect(changes()).to.have.length(1)
  })

  it('reads several files, of which later ones override earlier ones', async () => {
    writeFileSync(join(sandbox.home, 'other $(id).yaml'), 'theme: {mode: blue}\n')
    await run({ files: 'settings.yaml\nother $(id).yaml', apply: 'true' })
    expect(service.settings.settings.theme?.mode).to.equal('blue')
  })

  it('fails with exit code 10 if changes remain and strict is true', async () => {
    const { exitCode, stderr } = await run({ files: 'settings.yaml', strict: 'true' })
    expect(exitCode).to.equal(10)
    expect(stderr).to.contain('The service differs from the files')
    expect(written('output')).to.contain('changed=true')
  })

  it('fails with the exit code of chatctl, and reports nothing that it does not know', async () => {
    service.settings.otherwise = () => answer(401)
    const { exitCode } = await run({ files: 'settings.yaml', apply: 'true' })
    expect(exitCode).to.equal(4)
    expect(written('output')).not.to.contain('changed')
    expect((await run({ files: 'missing.yaml' })).exitCode).to.equal(2)
  })

  it('needs a base URL to compare files', async () => {
    const { exitCode, stderr } = await run({ files: 'settings.yaml' }, { CHATCTL_BASE_URL: '' })
    expect(stderr).to.contain('base-url')
    expect(exitCode).to.equal(2)
  })

  it('runs no command that is part of an input', async () => {
    const command = `\`touch ${sandbox.home}/ran\`$(touch ${sandbox.home}/ran); touch ${sandbox.home}/ran\n`
    for (const name of Object.keys(action.inputs)) {
      const { exitCode } = await run({ files: 'settings.yaml', [name]: command })
      expect(exitCode, name).to.equal(2)
    }
    expect(readdirSync(sandbox.home)).not.to.include('ran')
  })

  it('puts nothing on the PATH if the download or its signature is not valid', async () => {
    for (const [name, message] of [
      [archiveName(release.version, ownTarget), 'checksum'],
      ['SHASUMS256.txt', 'The signature of SHASUMS256.txt'],
    ] as const) {
      release.otherwise.clear()
      release.otherwise.set(name, answer(200, {}, 'altered'))
      const { exitCode, stderr } = await run({ files: 'settings.yaml' })
      expect(stderr).to.contain(message)
      expect(exitCode).to.equal(1)
      expect(written('path')).to.equal('')
    }
  })
})
