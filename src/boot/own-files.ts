import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * Reads the files of this program: files of the npm package, or assets of an executable
 * (docs/decisions/0019-executables.md).
 */

/** Whether this process runs an executable. Node.js gives the main script of one the path of the executable. */
export const isExecutable = __filename === process.execPath

/** The path that the names of own files are relative to. An executable has no files below its path. */
export const ownRoot = isExecutable ? process.execPath : dirname(__dirname)

/**
 * @param name path in the package, such as `package.json` or `dist/main.cjs`
 * @returns the content, until the next call. It must not be changed.
 * @throws if there is no such file
 */
export function readOwnFile(name: string): Buffer {
  return isExecutable ? Buffer.from(assets().getRawAsset(name)) : readWhole(join(ownRoot, name))
}

/** The first asset of an executable whose name begins so. */
export function findOwnFile(start: string): string | undefined {
  return assets()
    .getAssetKeys()
    .find((name) => name.startsWith(start))
}

// Not imported, because loading it would take 3% of the shortest run.
const assets = () => process.getBuiltinModule('node:sea')

/** Larger than most bundles and their caches. Pages that are not written to cost nothing. */
let memory = Buffer.allocUnsafeSlow(4 * 1024 * 1024)

/**
 * Reads a file into the memory of the previous one, because the system has to provide each page of new
 * memory: 2% of a short run.
 *
 * @returns the content, until the next call
 */
export function readWhole(path: string): Buffer {
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    if (size > memory.length) memory = Buffer.allocUnsafeSlow(size)
    let length = 0
    for (let read = -1; length < size && read !== 0; length += read) {
      read = readSync(file, memory, length, size - length, null)
    }
    return memory.subarray(0, length)
  } finally {
    closeSync(file)
  }
}
