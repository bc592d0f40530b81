import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { devNull, tmpdir } from 'node:os'
import { join } from 'node:path'

/** A git repository with the branch main, which no configuration of this machine affects. */
export interface GitRepository {
  path: string
  env: NodeJS.ProcessEnv
  /** @returns what git prints, without the last line break */
  git(...args: string[]): string
  remove(): void
}

export function createGitRepository(): GitRepository {
  const parent = mkdtempSync(join(tmpdir(), 'chatctl-git-'))
  const path = join(parent, 'work')
  const env = {
    PATH: process.env['PATH'],
    HOME: parent,
    GIT_CONFIG_SYSTEM: devNull,
    GIT_AUTHOR_NAME: 'Ada',
    GIT_AUTHOR_EMAIL: 'ada@example.com',
    GIT_COMMITTER_NAME: 'Ada',
    GIT_COMMITTER_EMAIL: 'ada@example.com',
  }
  execFileSync('git', ['init', '--quiet', '--initial-branch=main', path], { env })
  return {
    path,
    env,
    git: (...args) => execFileSync('git', args, { cwd: path, env, encoding: 'utf8', stdio: 'pipe' }).trim(),
    remove: () => rmSync(parent, { recursive: true, force: true }),
  }
}
