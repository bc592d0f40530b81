import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Release } from './describe-release.ts'

/** install.sh with the version and the address of a release. */
export function writeInstallScript({ version, downloads }: Pick<Release, 'version' | 'downloads'>): string {
  const values = { '@VERSION@': version, '@DOWNLOADS@': downloads }
  let text = readFileSync(join(import.meta.dirname, 'install.sh'), 'utf8')
  for (const [name, value] of Object.entries(values)) {
    if (!/^[\w.:/+-]+$/.test(value)) throw new Error(`"${value}" is not safe in a shell script`)
    text = text.replace(name, value)
  }
  return text
}
