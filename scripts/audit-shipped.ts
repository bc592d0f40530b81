import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import type { BundledPackage } from './bundled-packages.ts'

/**
 * Reads the report of `npm audit --json` from stdin, and fails if a bundled or installed package has a
 * vulnerability rated high or critical. `npm audit --omit=dev` would ignore bundled packages, and
 * `npm audit` would fail for development tools.
 */

/** The part of npm's report (auditReportVersion 2) that this script reads. */
interface Report {
  auditReportVersion?: number
  /** The reason, if npm could not audit. */
  message?: string
  vulnerabilities?: Record<string, Vulnerability>
}

interface Vulnerability {
  name: string
  severity: string
  /** Advisories, or names of other packages in this list. */
  via: (string | { title: string; url: string })[]
  /** Directories, as in the keys of the lock file. */
  nodes: string[]
}

const severe = ['high', 'critical']

/**
 * @param shipped directories of the bundled or installed packages, as in the keys of the lock file
 * @returns a line for each package with such a vulnerability
 * @throws Error when npm could not audit
 */
export function findSevereVulnerabilities(report: Report, shipped: ReadonlySet<string>): string[] {
  if (report.auditReportVersion !== 2 || !report.vulnerabilities) {
    throw new Error(`npm audit gave no report: ${report.message ?? 'unknown report format'}`)
  }
  return Object.values(report.vulnerabilities)
    .filter(({ severity, nodes }) => severe.includes(severity) && nodes.some((node) => shipped.has(node)))
    .map(({ name, severity, via }) => `${name} (${severity}): ${via.map(describeCause).join(', ')}`)
}

function describeCause(cause: Vulnerability['via'][number]): string {
  return typeof cause === 'string' ? `through ${cause}` : `${cause.title} ${cause.url}`
}

/** The packages that are bundled into dist, and those that are installed with chatctl. */
export function findShipped(
  bundled: readonly Pick<BundledPackage, 'directory'>[],
  locked: Record<string, { dev?: boolean }>,
): Set<string> {
  const installed = Object.entries(locked).filter(([directory, { dev }]) => directory !== '' && !dev)
  const inside = bundled.map(({ directory }) => directory.slice(directory.indexOf('node_modules/')))
  return new Set([...installed.map(([directory]) => directory), ...inside])
}

if (import.meta.main) {
  const root = resolve(import.meta.dirname, '..')
  const read = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8'))
  const shipped = findShipped(read('dist/.packages.json'), read('package-lock.json').packages)
  const vulnerabilities = findSevereVulnerabilities(JSON.parse(await text(process.stdin)), shipped)
  process.stdout.write(
    [
      ...vulnerabilities,
      `${shipped.size} packages, ${vulnerabilities.length} severe vulnerabilities`,
      '',
    ].join('\n'),
  )
  if (vulnerabilities.length > 0) process.exitCode = 1
}
