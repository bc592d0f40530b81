import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
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
 * @returns the content, until the next call. It must not be changed.
 * @throws if there is no such file
 */
export function readOwnFile(name: string): Buffer {
  return isExecutable ? Buffer.from(assets().getRawAsset(name)) : readWhole(`${ownRoot}/${name}`)
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
function readWhole(path: string): Buffer {
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    if (size > memory.length) memory = Buffer.allocUnsafeSlow(size)
    return memory.subarray(0, fill(file, 0, size))
  } finally {
    closeSync(file)
  }
}

/** Small enough to stay in the cache of the processor between reading and comparing. */
const part = 64 * 1024

/**
 * Reads a file that contains its content twice (code-cache-format.ts).
 *
 * @returns the content, until the next call; undefined if the file is damaged
 * @throws if there is no such file
 */
export function readDuplicated(path: string): Buffer | undefined {
  const file = openSync(path, 'r')
  try {
    const half = fstatSync(file).size / 2
    if (half + part > memory.length) memory = Buffer.allocUnsafeSlow(half + part)
    if (half === 0 || fill(file, 0, half) < half) return undefined
    for (let at = 0; at < half; at += part) {
      const length = Math.min(part, half - at)
      const isRead = fill(file, half, length) === length
      if (!isRead || memory.compare(memory, at, at + length, half, half + length) !== 0) return undefined
    }
    return memory.subarray(0, half)
  } finally {
    closeSync(file)
  }
}

/** Reads into the memory, and returns how many bytes the file had. */
function fill(file: number, start: number, length: number): number {
  let filled = 0
  for (let read = -1; filled < length && read !== 0; filled += read) {
    read = readSync(file, memory, start + filled, length - filled, null)
  }
  return filled
}
