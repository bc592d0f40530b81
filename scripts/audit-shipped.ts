import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import type { BundledPackage } from './bundled-packages.ts'

/**
 * Reads the report of `npm audit --json` on stdin, and fails where a package with a fault that is
 * rated high or critical is bundled or installed. `npm audit --omit=dev` would leave out what is
 * bundled, and `npm audit` would fail for tools that nobody is given.
 */

/** The part of npm's report (auditReportVersion 2) that counts here. */
interface Report {
  auditReportVersion?: number
  /** Where there is no report, why. */
  message?: string
  vulnerabilities?: Record<string, Vulnerability>
}

interface Vulnerability {
  name: string
  severity: string
  /** Advisories, and names of other packages in this list. */
  via: (string | { title: string; url: string })[]
  /** Folders, like the keys of the lock file. */
  nodes: string[]
}

const grave = ['high', 'critical']

/**
 * @param shipped folders of the packages that people get, like the keys of the lock file
 * @returns a line for each that has a grave fault
 * @throws Error when npm could not audit
 */
export function findGraveFaults(report: Report, shipped: ReadonlySet<string>): string[] {
  if (report.auditReportVersion !== 2 || !report.vulnerabilities) {
    throw new Error(`npm audit gave no report: ${report.message ?? 'its form is not known'}`)
  }
  return Object.values(report.vulnerabilities)
    .filter(({ severity, nodes }) => grave.includes(severity) && nodes.some((node) => shipped.has(node)))
    .map(({ name, severity, via }) => `${name} (${severity}): ${via.map(describeCause).join(', ')}`)
}

function describeCause(cause: Vulnerability['via'][number]): string {
  return typeof cause === 'string' ? `through ${cause}` : `${cause.title} ${cause.url}`
}

/** What is inside of dist, and what an installation brings. */
export function findShipped(
  bundled: readonly Pick<BundledPackage, 'folder'>[],
  locked: Record<string, { dev?: boolean }>,
): Set<string> {
  const installed = Object.entries(locked).filter(([folder, { dev }]) => folder !== '' && !dev)
  const inside = bundled.map(({ folder }) => folder.slice(folder.indexOf('node_modules/')))
  return new Set([...installed.map(([folder]) => folder), ...inside])
}

if (import.meta.main) {
  const root = resolve(import.meta.dirname, '..')
  const read = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8'))
  const shipped = findShipped(read('dist/.packages.json'), read('package-lock.json').packages)
  const faults = findGraveFaults(JSON.parse(await text(process.stdin)), shipped)
  process.stdout.write(
    [...faults, `${shipped.size} packages, ${faults.length} with grave faults`, ''].join('\n'),
  )
  if (faults.length > 0) process.exitCode = 1
}
