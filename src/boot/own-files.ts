import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Reads the files of this program: files of the npm package, or assets of an executable
 * (docs/decisions/0019-executables.md).
 */

/** Whether this process runs an executable. There, bin/run.js passes the path of the executable as `__filename`. */
export const isExecutable = __filename === process.execPath

/** The path that the names of own files are relative to. An executable has no files below its path. */
export const ownRoot = isExecutable ? process.execPath : dirname(__dirname)

/**
 * @param name path in the package, such as `package.json` or `dist/main.cjs`
 * @throws if there is no such file
 */
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
