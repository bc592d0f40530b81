import { lstatSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { KeychainCode } from '../auth/credentials/keychain-failure.ts'
import { describeSystemError } from '../system/describe-system-error.ts'
import { Directories } from '../system/files/directories.ts'
import { isOursAlone, makePrivateDirectory } from '../system/files/private-directory.ts'
import { replaceFile } from '../system/files/replace-file.ts'
import { findOwnFile, forgetFiles, isExecutable, readOwnFile } from './own-files.ts'

const loaded = new Map<string, unknown>()

/**
 * Loads a package with native code. The system loads such code only from a file, so an executable extracts it
 * to the cache directory.
 * @throws Error with a code of `auth/credentials/keychain-failure.ts` if the cache directory cannot be used
 */
export function loadNativeAddon(id: string): unknown {
  if (!isExecutable) return require(id)
  if (!loaded.has(id)) loaded.set(id, loadExtracted(id))
  return loaded.get(id)
}

function loadExtracted(id: string): unknown {
  const asset = findOwnFile(`native/${id}-`)
  const path = asset === undefined ? undefined : extract(asset)
  if (path === undefined) throw new Error(`Cannot find module '${id}'`)
  const module = { exports: {} }
  try {
    process.dlopen(module, path)
  } catch (error) {
    // glibc reports EPERM of mmap(2) in these words.
    const isNoexec = /failed to map segment/.test((error as Error).message)
    throw isNoexec ? unusable(`${path} is on a file system that is mounted with noexec`) : error
  }
  return module.exports
}

/** @returns the path of a file with the content of the asset */
function extract(asset: string): string {
  const directory = findDirectory()
  const name = basename(asset)
  const path = join(directory, name)
  const content = readOwnFile(asset)
  try {
    if (!hasContent(path, content)) {
      replaceFile(path, content, { flush: false })
      // The name begins with that of the addon and ends with the hash of its content.
      const [addon = ''] = name.split('-')
      forgetFiles(
        directory,
        (other) => other !== name && other.startsWith(`${addon}-`) && other.endsWith('.node'),
      )
    }
  } catch (error) {
    // Windows does not replace a file that another process has loaded since.
    if (hasContent(path, content)) return path
    throw unusable(`cannot write ${path}: ${describeSystemError(error)}`)
  }
  return path
}

/** The system executes the files in this directory, so only this user may have write access. */
function findDirectory(): string {
  const directory = new Directories(process.env).cache
  let isPrivate: boolean
  try {
    makePrivateDirectory(directory)
    isPrivate = isOursAlone(directory)
  } catch (error) {
    throw unusable(`cannot create ${directory}: ${describeSystemError(error)}`)
  }
  if (!isPrivate) throw unusable(`other users can write to ${directory}`)
  return directory
}

function unusable(reason: string): Error {
  const error = new Error(`the cache directory cannot be used: ${reason}`)
  return Object.assign(error, { code: 'keychain_cache_unusable' satisfies KeychainCode })
}

function hasContent(path: string, content: Buffer): boolean {
  const status = lstatSync(path, { throwIfNoEntry: false })
  // Links and files of others are replaced. Windows has no modes, and shows each file as writable by all.
  if (!status?.isFile()) return false
  if (process.getuid && ((status.mode & 0o022) !== 0 || status.uid !== process.getuid())) return false
  return readFileSync(path).equals(content)
}
