import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Release } from './describe-release.ts'

/** @param signers lines with the public keys that may sign a release */
export function writeInstallScript(
  { version, downloads }: Pick<Release, 'version' | 'downloads'>,
  signers: string,
): string {
  const values = { '@VERSION@': version, '@DOWNLOADS@': downloads }
  let text = readFileSync(join(import.meta.dirname, 'install.sh'), 'utf8')
  for (const [name, value] of Object.entries(values)) {
    if (!/^[\w.:/+-]+$/.test(value)) throw new Error(`"${value}" is not safe in a shell script`)
    text = text.replace(name, value)
  }
  // In a quoted here-document, where no character has a meaning.
  return text.replace('@SIGNERS@', () => signers)
}
