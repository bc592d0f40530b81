import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { removeQuietly } from '../system/files/replace-file.ts'

/**
 * Reads the files of this program: files of the npm package, or assets of an executable
 * (docs/decisions/0019-executables.md).
 */

/** Whether this process runs an executable. There, bin/run.js passes the path of the executable as `__filename`. */
export const isExecutable = __filename === process.execPath

/** The path that the names of own files are relative to. An executable has no files below its path. */
export const ownRoot = isExecutable ? process.execPath : dirname(__dirname)

/** @param name path in the package, such as `package.json` or `dist/main.cjs` @throws if there is no such file */
export function readOwnFile(name: string): Buffer {
  return isExecutable ? Buffer.from(assets().getRawAsset(name)) : readFileSync(`${ownRoot}/${name}`)
}

/** The first asset of an executable whose name begins so. */
export function findOwnFile(start: string): string | undefined {
  return assets()
    .getAssetKeys()
    .find((name) => name.startsWith(start))
}

// Not imported, because loading it would take 3% of the shortest run.
const assets = () => process.getBuiltinModule('node:sea')

/** Two versions in use at the same time keep each other's files for this time, in ms. */
const oneDay = 24 * 60 * 60 * 1000

/** Removes files of other versions, which were not written for a day. */
export function forgetFiles(directory: string, isOfOtherVersion: (name: string) => boolean): void {
  for (const name of readdirSync(directory)) {
    const path = join(directory, name)
    if (isOfOtherVersion(name) && statSync(path).mtimeMs < Date.now() - oneDay) removeQuietly(path)
  }
}
