import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { checkCommits } from '../../scripts/check-commits.ts'
import { createGitRepository } from '../support/git-repository.ts'
import { perTest } from '../support/lifetime.ts'

describe('check-commits', () => {
  const repository = perTest(createGitRepository)
  const git = (...args: string[]) => repository.git(...args)
  const check = (path = repository.path, base?: string) => checkCommits(path, base)
  const commit = (...paragraphs: string[]) => {
    const messages = paragraphs.flatMap((text) => ['--message', text])
    git('commit', '--quiet', '--allow-empty', '--cleanup=verbatim', ...messages)
    return git('rev-parse', '--short', 'HEAD')
  }
  const clone = (...options: string[]): string => {
    const copy = join(dirname(repository.path), 'copy')
    const args = ['clone', '--quiet', ...options, `file://${repository.path}`, copy]
    execFileSync('git', args, { env: repository.env, stdio: 'pipe' })
    return copy
  }

  beforeEach(() => {
    commit('Started something WIP on the default branch')
    git('checkout', '--quiet', '-b', 'feature')
  })

  it('accepts imperative subjects of at most 72 characters, also of verbs that end like another form', () => {
    for (const subject of 'Feed Process Bring Embed Focus Pass Shed Refocus Unstring'.split(' '))
      commit(`${subject} ${'é'.repeat(72 - subject.length - 1)}`, 'This is the reason.\n\nWIP, as it were.')
    expect(check()).to.deep.equal({ faults: [] })
  })

  it('accepts longer subjects that git or a bot writes', () => {
    const bump = `Bump actions/attest from 3.0.0 to 3.1.0 ${'x'.repeat(40)}`
    for (const verb of ['Revert', 'Reapply']) commit(`${verb} "Added ${'x'.repeat(72)}"`)
    commit(bump)
    git(
      'commit',
      '--quiet',
      '--amend',
      '--allow-empty',
      '--no-edit',
      '--author',
      'dependabot[bot] <bot@example.com>',
    )
    expect(check()).to.deep.equal({ faults: [] })
    commit(bump)
    expect(check().faults).to.have.length(1)
  })

  it('names the commit, the fault, and the command that corrects it', () => {
    const long = `Add ${'x'.repeat(69)}`
    const subjects = [long, 'Adds x', 'Fixed: x', 'Testing x', 'Add x (WIP)', 'fixup! Add x', 'Add x']
    const hashes = subjects.map((subject) => commit(subject))
    hashes.push(commit('Add y\nand z'))
    const correct = (index: number) =>
      index === hashes.length - 1 ? 'git commit --amend' : `git rebase -i ${hashes[index]}^`
    const line = (index: number, fault: string) =>
      `${hashes[index]} "${subjects[index] ?? 'Add y'}": ${fault}. Correct it with: ${correct(index)}`
    const notImperative = (word: string) => `the first word, "${word}", is not an imperative, such as "Add"`
    expect(check().faults.reverse()).to.deep.equal([
      line(0, 'the subject has 73 characters; the maximum is 72'),
      line(1, notImperative('Adds')),
      line(2, notImperative('Fixed')),
      line(3, notImperative('Testing')),
      line(4, 'the subject says that the commit is not finished'),
      line(5, 'the subject says that the commit is not finished'),
      line(7, 'the line after the subject is not empty'),
    ])
  })

  it('refuses a merge commit, except the one that GitHub makes to check a pull request', () => {
    const own = commit('Add x')
    git('checkout', '--quiet', 'main')
    commit('Add y')
    git('checkout', '--quiet', 'feature')
    git('merge', '--quiet', '--message', `Merge ${'a'.repeat(40)} into ${'b'.repeat(40)}`, 'main')
    expect(check()).to.deep.equal({ faults: [] })
    git('reset', '--quiet', '--hard', own)
    git('merge', '--quiet', 'main')
    const merge = git('rev-parse', '--short', 'HEAD')
    expect(check().faults).to.deep.equal([
      `${merge} "Merge branch 'main' into feature": a merge commit. Remove it with: git rebase main`,
    ])
  })

  it('compares with the base of the pull request, or with the remote default branch, if it exists', () => {
    git('checkout', '--quiet', 'main')
    const copy = clone()
    execFileSync('git', ['commit', '--quiet', '--allow-empty', '-m', 'Added x'], {
      cwd: copy,
      env: repository.env,
    })
    expect(check(copy).faults).to.have.length(1)
    execFileSync('git', ['push', '--quiet', 'origin', 'HEAD:refs/heads/1.x'], {
      cwd: copy,
      env: repository.env,
    })
    expect(check(copy, '1.x').skipped).to.equal('HEAD is on origin/1.x')
    expect(check(copy, 'none').faults).to.have.length(1)
  })

  it('says why it checks nothing, and succeeds', () => {
    git('checkout', '--quiet', 'main')
    expect(check()).to.deep.equal({ faults: [], skipped: 'HEAD is on main' })
    git('checkout', '--quiet', 'feature')
    commit('Added x')
    commit('Added y')
    const shallow = clone('--depth=1')
    expect(check(shallow).skipped).to.equal('neither origin/main nor main exists')
    rmSync(shallow, { recursive: true })
    expect(check(clone('--depth=1', '--no-single-branch')).skipped).to.equal(
      'the history here does not reach a commit of origin/main',
    )
    rmSync(join(repository.path, '.git'), { recursive: true })
    mkdirSync(join(repository.path, 'empty'))
    expect(check().skipped).to.equal('git finds no commit here')
  })
})
