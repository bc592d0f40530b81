import { execFileSync } from 'node:child_process'
import { resolve } from 'node:path'

/**
 * `node scripts/check-commits.ts` fails if a commit since the default branch is a merge, or has a message that
 * CONTRIBUTING.md, "Commits", does not allow. In a pull request on GitHub, it checks the commits since the base.
 * Without such a branch, it says so and succeeds.
 */

/** Where the commits of a branch begin. The first one that exists is used. */
const defaultBranches = ['origin/main', 'main']
const maximumSubject = 72
/** Subjects of any length: git and bots compose them of the names of other things. */
const revert = /^(?:Revert|Reapply) "/
const update = /^Bump /

/** GitHub checks a pull request as this merge of two commits, which no branch contains. */
const testMerge = /^Merge [0-9a-f]{40} into [0-9a-f]{40}$/
const unfinished = /^(?:fixup|squash|amend)! |\bWIP\b/i
const otherMood = /(?:ed|ing|[^s]s)$/i
/** Verbs in the imperative that end like another form. */
const imperatives =
  /^(?:re|un)?(?:\w*eed|alias|always|bias|bring|cling|embed|focus|ping|ring|shed|shred|sling|spring|string|swing|wring)$/i

export interface CheckedCommits {
  /** A line for each fault, with the command that corrects it. */
  faults: string[]
  /** Why no commit was checked. */
  skipped?: string
}

/** @param base branch that a pull request changes, if there is one */
export function checkCommits(root: string, base?: string): CheckedCommits {
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  const find = (...args: string[]): string | undefined => {
    try {
      return git(...args)
    } catch {
      return undefined
    }
  }
  const skip = (skipped: string): CheckedCommits => ({ faults: [], skipped })
  const head = find('rev-parse', 'HEAD')
  if (head === undefined) return skip('git finds no commit here')
  const branches = base ? [`origin/${base}`, ...defaultBranches] : defaultBranches
  const branch = branches.find((name) => find('rev-parse', '--verify', `${name}^{commit}`) !== undefined)
  if (branch === undefined) return skip(`neither ${branches.join(' nor ')} exists`)
  const start = find('merge-base', branch, 'HEAD')
  if (start === undefined) return skip(`the history here does not reach a commit of ${branch}`)
  if (start === head) return skip(`HEAD is on ${branch}`)
  const faults = git('log', '-z', '--format=%h%n%P%n%an%n%B', `${start}..HEAD`)
    .split('\0')
    .flatMap((record, index) => {
      const [hash = '', parents = '', author = '', subject = '', second = ''] = record.split('\n')
      const correction = index === 0 ? 'git commit --amend' : `git rebase -i ${hash}^`
      const found = parents.includes(' ')
        ? findMergeFaults(subject, branch)
        : findMessageFaults(subject, second, author).map(
            (fault) => `${fault}. Correct it with: ${correction}`,
          )
      return found.map((fault) => `${hash} "${subject}": ${fault}`)
    })
  return { faults }
}

function findMergeFaults(subject: string, branch: string): string[] {
  return testMerge.test(subject) ? [] : [`a merge commit. Remove it with: git rebase ${branch}`]
}

/** @param second line after the subject */
function findMessageFaults(subject: string, second: string, author: string): string[] {
  const faults: string[] = []
  const [first = ''] = /^\w*/.exec(subject) ?? []
  const length = [...subject].length
  const isComposed = revert.test(subject) || (update.test(subject) && author.endsWith('[bot]'))
  if (length > maximumSubject && !isComposed)
    faults.push(`the subject has ${length} characters; the maximum is ${maximumSubject}`)
  if (second !== '') faults.push('the line after the subject is not empty')
  if (unfinished.test(subject)) faults.push('the subject says that the commit is not finished')
  if (otherMood.test(first) && !imperatives.test(first))
    faults.push(`the first word, "${first}", is not an imperative, such as "Add"`)
  return faults
}

if (import.meta.main) {
  const { faults, skipped } = checkCommits(resolve(import.meta.dirname, '..'), process.env['GITHUB_BASE_REF'])
  if (skipped !== undefined) process.stdout.write(`No commits were checked: ${skipped}.\n`)
  for (const fault of faults) process.stderr.write(`${fault}\n`)
  if (faults.length > 0) process.exitCode = 1
}
