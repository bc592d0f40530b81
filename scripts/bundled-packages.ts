import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Metafile } from 'esbuild'

/** A package of which something is in dist. */
export interface BundledPackage {
  name: string
  version: string
  /** Where it was taken from, relative to the root of the project. */
  folder: string
  /** How many bytes of each bundle are its own: none, where it only passes on what others have. */
  bytes: Record<string, number>
}

/** The innermost package that a path belongs to. */
const packageFolder = /^((?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+)\//

/**
 * Reads off what esbuild says of each bundle which packages are in it. One that is there in two
 * versions comes twice.
 *
 * @param metafiles by name of the bundle
 */
export function findBundledPackages(root: string, metafiles: Record<string, Metafile>): BundledPackage[] {
  const found = new Map<string, BundledPackage>()
  for (const [bundle, { outputs }] of Object.entries(metafiles)) {
    const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs))
    for (const [path, { bytesInOutput }] of inputs) {
      const folder = packageFolder.exec(path)?.[1]
      if (folder === undefined) continue
      const package_ = found.get(folder) ?? { ...readNameAndVersion(root, folder), folder, bytes: {} }
      package_.bytes[bundle] = (package_.bytes[bundle] ?? 0) + bytesInOutput
      found.set(folder, package_)
    }
  }
  return [...found.values()].sort((a, b) => (`${a.name}@${a.version}` < `${b.name}@${b.version}` ? -1 : 1))
}

function readNameAndVersion(root: string, folder: string): { name: string; version: string } {
  const { name, version } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
  return { name, version }
}
