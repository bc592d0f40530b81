import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'

export const root = resolve(import.meta.dirname, '../..')

/** The parts of package.json that tests use. */
export interface PackageFile {
  version: string
  description: string
  bugs: { url: string }
  engines: { node: string }
  scripts: Record<string, string>
  dependencies: Record<string, string>
  devDependencies: Record<string, string>
}

export const packageFile: PackageFile = JSON.parse(readFileSync(resolve(root, 'package.json'), 'utf8'))
