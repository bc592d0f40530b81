import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Metafile } from 'esbuild'

/** A package that is at least partly in dist. */
export interface BundledPackage {
  name: string
  version: string
  /** Its directory, relative to the project root. */
  directory: string
  /** Its size in bytes in each bundle; 0 if it only re-exports other packages. */
  bytes: Record<string, number>
}

/** Matches the directory of the innermost package of a path. */
const packageDirectory = /^((?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+)\//

/**
 * Finds the packages in each bundle. A package with two versions has two entries.
 *
 * @param metafiles esbuild's metafiles by the names of the bundles
 */
export function findBundledPackages(root: string, metafiles: Record<string, Metafile>): BundledPackage[] {
  const found = new Map<string, BundledPackage>()
  for (const [bundle, { outputs }] of Object.entries(metafiles)) {
    const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs))
    for (const [path, { bytesInOutput }] of inputs) {
      const directory = packageDirectory.exec(path)?.[1]
      if (directory === undefined) continue
      const package_ = found.get(directory) ?? {
        ...readNameAndVersion(root, directory),
        directory,
        bytes: {},
      }
      package_.bytes[bundle] = (package_.bytes[bundle] ?? 0) + bytesInOutput
      found.set(directory, package_)
    }
  }
  return [...found.values()].sort((a, b) => (`${a.name}@${a.version}` < `${b.name}@${b.version}` ? -1 : 1))
}

function readNameAndVersion(root: string, directory: string): { name: string; version: string } {
  const { name, version } = JSON.parse(readFileSync(join(root, directory, 'package.json'), 'utf8'))
  return { name, version }
}
