import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { parse } from 'yaml'
import { archiveName } from '../../scripts/release/describe-release.ts'
import { makeSealKey } from '../../src/system/files/sealed-plan.ts'
import { root } from '../scripts/package-file.ts'
import { executableFor } from '../support/executable.ts'
import { createGitRepository } from '../support/git-repository.ts'
import { SettingsHandler } from '../support/handlers/settings.ts'
import { UsersHandler } from '../support/handlers/users.ts'
import { perSuite, perTest } from '../support/lifetime.ts'
import type { Run } from '../support/run-chatctl.ts'
import { runProgram } from '../support/run-program.ts'
import { createSandbox } from '../support/sandbox.ts'
import {
  answer,
  type RecordedRequest,
  serveHandler,
  startScriptedServer,
} from '../support/scripted-server.ts'
import { describeSample } from '../support/take-sample.ts'
import { obstacle, programInRoot } from './container-root.ts'
import { startGitHub, token } from './github-stand-in.ts'
import { ownTarget, releaseKey, serveRelease } from './served-release.ts'

interface Action {
  inputs: Record<string, { default: string }>
  outputs: Record<string, { value: string }>
  runs: { steps: { id: string; shell: string; env: Record<string, string>; run: string }[] }
}

const action: Action = parse(readFileSync(join(root, 'action.yml'), 'utf8'), { strict: true })

const leftOut = obstacle === undefined ? '' : `; skipped: ${obstacle}`

describeSample('the GitHub Action', 2, () => {
  const release = perSuite(() => serveRelease())
  const sandbox = perTest(createSandbox)
  const users = perTest(() => serveHandler(new UsersHandler()))
  const github = perTest(startGitHub)
  const service = perTest(async () => {
    const settings = new SettingsHandler()
    const choose = (request: RecordedRequest) =>
      request.path.startsWith('/v1/users') ? users.choose(request) : settings.choose(request)
    return { settings, ...(await startScriptedServer({ choose })) }
  })
  const runner = () => join(sandbox.home, 'runner')
  const written = (name: string) => readFileSync(join(runner(), name), 'utf8')
  const changes = () => service.requests.filter(({ method }) => method !== 'GET')

  beforeEach(() => {
    pullRequest = ''
    mkdirSync(join(runner(), 'temp'), { recursive: true })
    for (const name of ['path', 'output', 'summary']) writeFileSync(join(runner(), name), '')
    writeFileSync(join(sandbox.home, 'settings.yaml'), 'theme: {mode: dark}\n')
    writeFileSync(join(sandbox.home, 'users.yaml'), '[{email: ada@example.com, name: Ada}]\n')
  })
  afterEach(() => release.faults.clear())

  /** What the action uses of this repository, with the public key of the release. */
  function checkout(): string {
    const path = join(sandbox.home, 'action')
    for (const name of ['package.json', 'scripts/release/run-action.sh', 'scripts/release/install.sh'])
      cpSync(join(root, name), join(path, name))
    writeFileSync(join(path, 'scripts/release/allowed_signers'), `# Comment\n${releaseKey().signers}\n`)
    return path
  }

  /** The number of the pull request, whose event starts the workflow; empty for another event. */
  let pullRequest = ''

  /** Runs the step as the runner does: expressions are evaluated in `env` only. */
  function run(
    inputs: Record<string, string> = {},
    env: NodeJS.ProcessEnv = {},
    program: readonly [string, ...string[]] = ['sh', '-e'],
  ): Promise<Run> {
    const [step] = action.runs.steps
    const values: Record<string, string> = {
      'github.action_repository': 'acme/chatctl',
      'github.token': token,
      'github.event.pull_request.number': pullRequest,
    }
    const evaluate = (text: string) =>
      text.replaceAll(/\$\{\{ (\S+) \}\}/g, (_, expression) => {
        expect(values, expression).to.have.property(expression)
        return values[expression] ?? ''
      })
    for (const [name, input] of Object.entries(action.inputs))
      values[`inputs.${name}`] = inputs[name] ?? evaluate(input.default)
    const evaluated = Object.entries(step?.env ?? {}).map(([name, text]) => [name, evaluate(text)])
    const script = join(runner(), 'step.sh')
    writeFileSync(script, step?.run ?? '')
    return runProgram(sandbox, [script], {
      program,
      timeout: 60_000,
      env: {
        GITHUB_ACTION_PATH: checkout(),
        GITHUB_SERVER_URL: new URL(release.url).origin,
        GITHUB_REPOSITORY: 'acme/app',
        GITHUB_API_URL: `${github.url}/api/v3`,
        GITHUB_GRAPHQL_URL: `${github.url}/api/graphql`,
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
    const { exitCode, stderr } = await run({ files: '\n  settings.yaml\n\n', comment: 'true' })
    expect(exitCode, stderr).to.equal(0)
    expect(written('summary')).to.contain('| `theme.mode` | `"light"` | `"dark"` |')
    expect(written('output')).to.contain('changed=true\n')
    expect(changes()).to.deep.equal([])
    expect(stderr).not.to.contain('settings.plan')
    expect(github.requests).to.deep.equal([])
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

  it('reads several files, of which later ones override earlier ones, also with CRLF', async () => {
    writeFileSync(join(sandbox.home, 'other $(id).yaml'), 'theme: {mode: blue}\n')
    await run({ files: 'settings.yaml\r\nother $(id).yaml\r\n', apply: 'true' })
    expect(service.settings.settings.theme?.mode).to.equal('blue')
  })

  it('fails with exit code 10 if changes remain and strict is true', async () => {
    const { exitCode, stderr } = await run({ files: 'settings.yaml', strict: 'true' })
    expect(exitCode).to.equal(10)
    expect(stderr).to.contain('The service differs from the files')
    expect(written('output')).to.contain('changed=true')
  })

  it('fails with the exit code of chatctl, and reports nothing that it does not know', async () => {
    service.faults.set('/v1/settings', answer(401))
    const { exitCode } = await run({ files: 'settings.yaml', 'users-files': 'missing.yaml', apply: 'true' })
    expect(exitCode).to.equal(4)
    expect(written('output')).not.to.contain('changed')
    expect((await run({ files: 'missing.yaml' })).exitCode).to.equal(2)
  })

  it('applies nothing if a comparison fails, and shows the others', async () => {
    const inputs = { files: 'settings.yaml', 'users-files': 'users.yaml', apply: 'true', comment: 'true' }
    service.faults.set('/v1/settings', answer(401))
    pullRequest = '7'
    expect((await run({ ...inputs, 'users-results': 'new.csv' })).exitCode).to.equal(4)
    const failed = /comparison of settings failed with exit code 4\.[\s\S]*`ada@example\.com`/
    expect(written('summary')).to.match(failed)
    expect(github.comments[0]?.body).to.match(failed)
    expect(changes()).to.deep.equal([])
  })

  for (const [needs, apply, env, message] of [
    ['a file for passwords', 'false', {}, 'New users need passwords (the input users-results)'],
    ['an approval', 'true', { CHATCTL_APPROVERS: 'approvers' }, 'users.plan is not approved'],
    ['a key of seals that is set', 'false', { CHATCTL_SEAL_KEY: '' }, 'CHATCTL_SEAL_KEY is empty'],
  ] as const)
    it(`fails before any change, also for a pull request, if a change would need ${needs}`, async () => {
      writeFileSync(join(sandbox.home, 'approvers'), '', { mode: 0o600 })
      pullRequest = '7'
      const inputs = { files: 'settings.yaml', 'users-files': 'users.yaml', comment: 'true', apply }
      const { exitCode, stderr } = await run(inputs, env)
      expect(exitCode, stderr).to.equal(2)
      expect(stderr).to.contain(message)
      expect(written('summary')).to.match(/The (check|comparison) of users failed with exit code 2/)
      expect(changes()).to.deep.equal([])
    })

  it('applies users before settings, from sealed plans if there is a key, and stops at the first failure', async () => {
    const inputs = { files: 'settings.yaml', 'users-files': 'users.yaml', 'users-results': 'new.csv' }
    service.faults.set('PATCH /v1/settings', answer(403))
    const env = { CHATCTL_SEAL_KEY: makeSealKey() }
    const { exitCode, stderr } = await run({ ...inputs, apply: 'true' }, env)
    expect(exitCode, stderr).to.equal(5)
    expect(changes().map(({ path }) => path)).to.deep.equal(['/v1/users', '/v1/settings'])
  })

  describe('with comment', () => {
    const inputs = { files: 'settings.yaml', comment: 'true' }
    beforeEach(() => {
      pullRequest = '7'
    })

    it('writes one comment if there are changes, replaces it in later runs, and leaves no files', async () => {
      await run({ ...inputs, comment: 'false' })
      service.settings.change({ theme: { mode: 'dark' } })
      await run(inputs)
      expect(github.comments).to.deep.equal([])
      service.settings.change({ theme: { mode: 'light' } })
      for (let other = 0; other < 250; other++) github.add('Hello', 'ada')
      const { exitCode, stderr } = await run(inputs, { XDG_STATE_HOME: join(sandbox.home, 'state') })
      expect([exitCode, stderr]).to.deep.equal([0, ''])
      const head = /^<!-- chatctl \d+ \d+ -->\nThe service differs from the files:\n\n### Settings/
      expect(github.comments[250]?.body).to.match(head).and.contain('| `"light"` | `"dark"` |')
      service.settings.change({ theme: { mode: 'blue' } })
      await run(inputs)
      expect(github.comments[250]?.body).to.match(head).and.not.contain('light')
      service.settings.change({ theme: { mode: 'dark' } })
      await run(inputs)
      expect(github.comments[250]?.body)
        .to.match(/-->\nNo changes\.\n/)
        .and.not.contain('blue')
      expect(github.written).to.deep.equal(['POST 7/comments', ...Array(2).fill('PATCH comments/3000000250')])
      expect(readdirSync(sandbox.home)).to.have.members(['action', 'runner', 'settings.yaml', 'users.yaml'])
      expect(readdirSync(join(runner(), 'temp'))).to.have.length(2)
    })

    it('has one for each set of files and each service, and never changes that of another user, or a quotation', async () => {
      await run(inputs)
      await run({ ...inputs, 'users-files': 'users.yaml' })
      await run({ ...inputs, 'base-url': `${service.url}/` })
      const [{ body = '' } = {}] = github.comments.splice(0)
      github.add(body, 'mallory')
      github.add(`> ${body}`)
      await run(inputs)
      expect(github.written).to.deep.equal(Array(4).fill('POST 7/comments'))
    })

    it('shows values as code, hides secrets, and shortens the output after a whole row', async () => {
      service.settings.change({ app_name: '<!-- ``` @ada\n# <b>' })
      writeFileSync(join(sandbox.home, 'settings.yaml'), 'app_name: "a | `b` ![](x)"\n')
      const rows = Array.from({ length: 20_000 }, (_, row) => `user${row}é@example.com,canary\n`)
      writeFileSync(join(sandbox.home, 'users.csv'), `email,metadata.api_key\n${rows.join('')}`)
      await run({ ...inputs, 'users-files': 'users.csv' })
      const [{ body = '' } = {}] = github.comments
      expect(body).to.contain('| `app_name` | ````"<!-- ``` @ada\\n# <b>"```` | ``"a \\| `b` ![](x)"`` |\n')
      expect(body).to.contain('`metadata.api_key`').and.not.contain('canary')
      expect(Buffer.byteLength(body)).to.be.within(59_000, 61_000)
      expect(body).to.match(
        /\| `user\d+é@example\.com` \|.* \|\n\nThis comment is shortened\. .*summary.*\.$/,
      )
      // GitHub shows no job summary of more than 1 MiB.
      expect(Buffer.byteLength(written('summary'))).to.be.within(999_000, 2 ** 20)
      expect(written('summary')).to.match(/ \|\n\nThis job summary is shortened\.\n$/)
    })

    it('warns and succeeds if the token may not write it', async () => {
      github.isReadOnly = true
      const { exitCode, stdout, stderr } = await run(inputs)
      expect(exitCode).to.equal(0)
      expect(stderr).to.contain('Resource not accessible by integration (403')
      expect(stdout).to.match(/^::warning .*pull-requests: write/m)
      // Nothing else of the output is a command.
      const stopped =
        /^::stop-commands::(\w{32})\n[\s\S]*^::\1::\n::warning .*\n::stop-commands::\1\n[\s\S]*^::\1::\n$/m
      expect(stdout).to.match(stopped)
      expect(written('output')).to.contain('changed=true')
    })
  })

  describe(`in a container root with only an executable of the release and common tools${leftOut}`, () => {
    const executables = perSuite(async () => serveRelease(await executableFor(ownTarget)))
    before(function () {
      if (obstacle !== undefined && process.env['CI']) throw new Error(obstacle)
      if (obstacle !== undefined) this.skip()
    })

    it('applies settings and users, and writes and replaces the comment', async () => {
      const program = programInRoot(sandbox.home, await executableFor(ownTarget))
      const env = { GITHUB_SERVER_URL: new URL(executables.url).origin, PATH: '/usr/bin' }
      pullRequest = '7'
      const inputs = {
        ...{ 'users-files': 'users.yaml', 'users-state': 'team.json', 'users-results': 'new.csv' },
        ...{ files: 'settings.yaml', apply: 'true', strict: 'true', comment: 'true' },
      }
      const { exitCode, stderr } = await run(inputs, env, program)
      expect(exitCode, stderr).to.equal(0)
      expect(stderr).not.to.match(/^(Error|Warning)/m)
      expect(written('summary')).to.contain('| `ada@example.com` | `create` |').and.contain('1 to create')
      expect(service.settings.settings.theme?.mode).to.equal('dark')
      expect([...users.report().users.values()]).to.have.length(1)
      for (const name of ['team.json', 'new.csv'])
        expect(readFileSync(join(sandbox.home, name), 'utf8')).to.contain('ada@example.com')
      expect((await run(inputs, env, program)).exitCode).to.equal(0)
      expect(github.written).to.deep.equal(['POST 7/comments', 'PATCH comments/3000000000'])
      expect(written('output')).to.match(/changed=true\n.*\nchanged=false\n$/)
    })
  })

  it('needs a base URL to compare files', async () => {
    const { exitCode, stderr } = await run({ files: 'settings.yaml' }, { CHATCTL_BASE_URL: '' })
    expect(stderr).to.contain('base-url')
    expect(exitCode).to.equal(2)
  })

  it('runs no command that is part of an input', async () => {
    const command = `\`touch ${sandbox.home}/ran\`$(touch ${sandbox.home}/ran); touch ${sandbox.home}/ran\n`
    pullRequest = '7'
    for (const name of Object.keys(action.inputs)) {
      const all = { files: 'settings.yaml', 'users-files': 'users.yaml', 'users-results': 'new.csv' }
      const inputs = { ...all, apply: 'true', comment: 'true' }
      const { exitCode, stdout } = await run({ ...inputs, [name]: command })
      if (name === 'github-token') expect(stdout).to.contain('::warning')
      // A state file in a directory that does not exist is a failure of the storage.
      else expect(exitCode, name).to.equal(name === 'users-state' ? 1 : 2)
    }
    expect(readdirSync(sandbox.home)).not.to.include('ran')
  })

  it('puts nothing on the PATH if the download or its signature is not valid', async () => {
    for (const [name, message] of [
      [archiveName(release.version, ownTarget), 'checksum'],
      ['SHASUMS256.txt', 'The signature of SHASUMS256.txt'],
    ] as const) {
      release.faults.clear()
      release.faults.set(release.pathOf(name), answer(200, {}, 'altered'))
      const { exitCode, stderr } = await run({ files: 'settings.yaml' })
      expect(stderr).to.contain(message)
      expect(exitCode).to.equal(1)
      expect(written('path')).to.equal('')
    }
  })
})

describe('the workflow with users in docs/guides/ci.md', () => {
  const repository = perTest(createGitRepository)

  it('begins with the newest state file, and commits the next one if the branch has changed since', () => {
    const { git, path, env } = repository
    const blocks = readFileSync(join(root, 'docs/guides/ci.md'), 'utf8').split(/^```(?:yaml)?\n/m)
    const { steps } = parse(blocks.find((block) => block.includes('git push')) ?? '').jobs.service
    // By default, GitHub checks out the commit of the event, without the state file of an earlier job.
    expect(steps[0].with).to.deep.equal({ ref: `\${{ github.ref }}` })
    const job = `${path}-job`
    git('commit', '--quiet', '--allow-empty', '--message=Begin')
    git('config', 'receive.denyCurrentBranch', 'ignore')
    git('clone', '--quiet', '--depth=1', `file://${path}`, job)
    git('commit', '--quiet', '--allow-empty', '--message=Merge')
    writeFileSync(join(job, 'users.state.json'), '{}')
    execFileSync('bash', ['-ec', steps.at(-1).run], { cwd: job, env, stdio: 'pipe' })
    expect(git('log', '--format=%s')).to.equal('Record users\nMerge\nBegin')
  })
})
