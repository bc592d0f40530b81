import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

/** `node scripts/check-release.ts v1.2.3` fails if the tag does not match the version or the changelog. */

/**
 * @param tag name of the git tag, such as `v1.2.3`
 * @returns a sentence for each fault
 */
export function findReleaseFaults(tag: string, version: string, changelog: string): string[] {
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
  return faults
}

if (import.meta.main) {
  const root = resolve(import.meta.dirname, '..')
  const read = (path: string) => readFileSync(join(root, path), 'utf8')
  const [tag = ''] = process.argv.slice(2)
  const faults = findReleaseFaults(tag, JSON.parse(read('package.json')).version, read('CHANGELOG.md'))
  for (const fault of faults) process.stderr.write(`${fault}\n`)
  if (faults.length > 0) process.exitCode = 1
}
