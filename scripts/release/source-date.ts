import { execFileSync } from 'node:child_process'

/**
 * The time of all files in a release, in seconds since 1970: SOURCE_DATE_EPOCH, by default that of the commit.
 * Builds of one commit are identical (reproducible-builds.org/specs/source-date-epoch).
 */
export function sourceDate(env: NodeJS.ProcessEnv = process.env): number {
  const given =
    env['SOURCE_DATE_EPOCH'] ??
    execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: import.meta.dirname, encoding: 'utf8' }).trim()
  if (!/^\d+$/.test(given)) throw new Error(`SOURCE_DATE_EPOCH must be seconds since 1970, not "${given}"`)
  return Number(given)
}
