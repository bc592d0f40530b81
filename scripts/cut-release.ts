import { execFileSync, spawnSync } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { findReleaseFaults } from './check-release.ts'

/**
 * `npm run cut-release -- 0.2.0` sets the version, dates the section of the changelog, commits, and makes a signed
 * tag. It pushes nothing, and changes nothing if a step fails.
 */

const root = resolve(import.meta.dirname, '..')
const branch = 'main'
/** The documents that name the version to install. */
const documents = ['README.md', 'docs/install.md', 'docs/guides/**/*.md']

const read = (name: string): string => readFileSync(join(root, name), 'utf8')
const run = (command: string, ...args: string[]): string =>
  execFileSync(command, args, { cwd: root, encoding: 'utf8', stdio: 'pipe' }).trim()
const git = (...args: string[]): string => run('git', ...args)

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}

/** What a program has printed, or the message of the error. */
function describeError(error: unknown): string {
  const { stderr, message } = error as Error & { stderr?: string }
  return (stderr || message).trim()
}

/** @throws Error with the first reason against this release */
function checkRepository(version: string, current: string): void {
  if (!/^\d+\.\d+\.\d+$/.test(version)) throw new Error(`"${version}" is not a version, such as 0.2.0.`)
  // The first release may have the version that package.json had before.
  if (version !== current && !isHigher(version, current))
    throw new Error(`${version} is not higher than ${current}, the version in package.json.`)
  if (git('tag', '--list', `v${version}`) !== '') throw new Error(`The tag v${version} exists already.`)
  const changes = git('status', '--porcelain')
  if (changes !== '') throw new Error(`Commit or remove these changes first:\n${changes}`)
  const actual = git('branch', '--show-current')
  if (actual !== branch) throw new Error(`The branch is "${actual}". Run: git switch ${branch}`)
}

function isHigher(version: string, other: string): boolean {
  return version.localeCompare(other, 'en', { numeric: true }) > 0
}

/**
 * @returns whether CI has passed, or why that is unknown
 * @throws Error if CI has not passed
 */
function checkCi(commit: string): string {
  let printed: string
  try {
    printed = run('gh', 'run', 'list', '--workflow=ci.yml', `--commit=${commit}`, '--json=status,conclusion')
  } catch (error) {
    const reason = isMissing(error) ? 'gh is not installed' : describeError(error).split('\n')[0]
    return `The result of CI is unknown (${reason}). Before you push, run: .ci/run`
  }
  const [last] = JSON.parse(printed) as { status: string; conclusion: string }[]
  if (!last) throw new Error(`CI has not checked ${commit}. Push it, and wait for CI.`)
  if (last.conclusion !== 'success')
    throw new Error(`CI has not passed for ${commit}: ${last.conclusion || last.status}`)
  return 'CI has passed.'
}

/** @returns the new content by the name of each file */
function describeChanges(version: string, current: string): Map<string, string> {
  const unreleased = '## Unreleased\n'
  const today = new Date().toISOString().slice(0, 10)
  const changelog = read('CHANGELOG.md').replace(unreleased, `${unreleased}\n## ${version} - ${today}\n`)
  const faults = findReleaseFaults(`v${version}`, version, changelog)
  if (faults.length > 0) throw new Error(faults.join('\n'))
  const changed = new Map([['CHANGELOG.md', changelog]])
  for (const name of ['package.json', 'package-lock.json']) {
    const content = JSON.parse(read(name))
    for (const holder of [content, content.packages?.['']]) if (holder) holder.version = version
    changed.set(name, `${JSON.stringify(content, null, 2)}\n`)
  }
  const named = new RegExp(`(?<![\\d.])${current.replaceAll('.', '\\.')}(?!\\.?\\d)`, 'g')
  for (const name of globSync(documents, { cwd: root })) changed.set(name, read(name).replace(named, version))
  return changed
}

function signTag(version: string): void {
  const tag = `v${version}`
  const args = ['tag', '--sign', `--message=chatctl ${version}`, tag]
  const { status, stderr } = spawnSync('git', args, { cwd: root, encoding: 'utf8' })
  // If git 2.39 cannot read an SSH key, it makes a tag without a signature, and exits with 0.
  if (status === 0 && git('cat-file', 'tag', tag).includes('-----BEGIN ')) return
  if (status === 0) git('tag', '--delete', tag)
  throw new Error(
    `git cannot sign the tag: ${stderr.trim()}\nChoose a key: CONTRIBUTING.md, "Publish a release".`,
  )
}

try {
  const [version = ''] = process.argv.slice(2)
  const current: string = JSON.parse(read('package.json')).version
  checkRepository(version, current)
  const commit = git('rev-parse', 'HEAD')
  const ci = checkCi(commit)
  const changed = describeChanges(version, current)
  try {
    for (const [name, content] of changed) writeFileSync(join(root, name), content)
    git('commit', '--all', `--message=Release ${version}`)
    signTag(version)
  } catch (error) {
    git('reset', '--hard', commit)
    throw error
  }
  process.stdout.write(`Committed and tagged chatctl ${version}. ${ci}\n`)
  process.stdout.write(`Publish it with: git push --atomic origin ${branch} v${version}\n`)
} catch (error) {
  process.stderr.write(`${describeError(error)}\nNothing was changed.\n`)
  process.exitCode = 1
}
