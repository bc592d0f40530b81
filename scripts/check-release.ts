import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readSigners } from './release/signature.ts'

/**
 * `node scripts/check-release.ts v1.2.3 [chatctl-1.2.3.tgz]` fails if the tag does not match the version or the
 * changelog, if there is no public key for the signature, or if the package lacks a code cache.
 */

/** Node 22, 24, and 26. */
const nodeLines = 3

/**
 * @param tag name of the git tag, such as `v1.2.3`
 * @param signers content of scripts/release/allowed_signers (default: that of the repository)
 * @returns a sentence for each fault
 */
export function findReleaseFaults(
  tag: string,
  version: string,
  changelog: string,
  signers?: string,
): string[] {
  const faults: string[] = []
  if (tag !== `v${version}`) faults.push(`The tag ${tag} is not v${version}, the version in package.json.`)
  const sections = changelog.split(/^## /m).slice(1)
  const section = sections.find((text) => /^\S+/.exec(text)?.[0] === version)
  if (section === undefined) {
    faults.push(`CHANGELOG.md has no section ${version}.`)
  } else {
    const [title = '', ...lines] = section.split('\n')
    if (!/ - \d{4}-\d\d-\d\d$/.test(title)) faults.push(`CHANGELOG.md has no date for ${version}.`)
    if (!lines.some((line) => line.startsWith('- ')))
      faults.push(`CHANGELOG.md lists no change for ${version}.`)
  }
  try {
    readSigners(signers)
  } catch (error) {
    faults.push((error as Error).message)
  }
  return faults
}

/**
 * @param files paths in the package
 * @returns a sentence for each fault of its code caches (scripts/write-code-cache.ts)
 */
export function findCacheFaults(files: readonly string[]): string[] {
  const bundlesOf = new Map<string, Set<string>>()
  for (const file of files) {
    const [, bundle, v8] =
      /\/code-cache\/([a-z-]+)-[0-9a-f]{16}-([^-]+)-[\w.]+-linux-x64(?:\.zst)?$/.exec(file) ?? []
    if (bundle === undefined || v8 === undefined) continue
    bundlesOf.set(v8, (bundlesOf.get(v8) ?? new Set()).add(bundle))
  }
  const faults: string[] = []
  if (bundlesOf.size !== nodeLines)
    faults.push(`The package has code caches for ${bundlesOf.size} versions of V8, not ${nodeLines}.`)
  const all = new Set([...bundlesOf.values()].flatMap((bundles) => [...bundles]))
  for (const [v8, bundles] of bundlesOf) {
    const missing = [...all].filter((bundle) => !bundles.has(bundle))
    if (missing.length > 0) faults.push(`The code cache for V8 ${v8} lacks ${missing.join(', ')}.`)
  }
  return faults
}

if (import.meta.main) {
  const root = resolve(import.meta.dirname, '..')
  const read = (path: string) => readFileSync(join(root, path), 'utf8')
  const [tag = '', tarball] = process.argv.slice(2)
  const faults = findReleaseFaults(tag, JSON.parse(read('package.json')).version, read('CHANGELOG.md'))
  if (tarball !== undefined) {
    const files = execFileSync('tar', ['-tzf', tarball], { encoding: 'utf8' }).split('\n')
    faults.push(...findCacheFaults(files))
  }
  for (const fault of faults) process.stderr.write(`${fault}\n`)
  if (faults.length > 0) process.exitCode = 1
}
