import { globSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { composeExecutableLicenses } from '../compose-licenses.ts'

const root = resolve(import.meta.dirname, '../..')

/** The licenses of all that an executable contains. The native add-ons of all targets contain the same crates. */
export function composeProgramLicenses(): string {
  const [addOn] = globSync('node_modules/@napi-rs/keyring-*', { cwd: root })
  if (addOn === undefined) throw new Error('The keychain add-on is missing. Install it with: npm ci')
  return composeExecutableLicenses(root, join(root, addOn), process.versions.node)
}
