import { realpathSync, statSync } from 'node:fs'
import { dirname, isAbsolute, relative, resolve, sep } from 'node:path'
import { Failure } from '../contract/failure.ts'
import { Directories } from '../system/files/directories.ts'
import { type Configuration, configurationPath } from './configuration-file.ts'

const prefix = 'directory.'

export function directoryKey(directory: string): string {
  return prefix + directory
}

/** The directory that a configuration key names; undefined for any other key. It may be in double quotes. */
export function directoryOf(key: string): string | undefined {
  return key.startsWith(prefix) ? key.slice(prefix.length).replace(/^"(.*)"$/s, '$1') : undefined
}

/**
 * One notation for each path, so that a key is found again however it is typed.
 * @param resolvePath of the working directory
 * @throws Failure `usage` for a path that cannot be a directory of this user
 */
export function normalizeDirectory(
  directory: string,
  home: string,
  resolvePath: (name: string) => string,
): string {
  if (directory.trim() === '' || directory.includes('\0') || /^~[^/\\]/.test(directory)) {
    throw new Failure('usage', `"${directory}" is not the path of a directory`, {
      hint: 'Use an absolute path, or one that begins with ~/.',
    })
  }
  const path = resolve(resolvePath(expandHome(directory, home)))
  const root = resolve(home)
  if (path === root) return '~'
  const inHome = relative(root, path)
  return /^\.\.([/\\]|$)/.test(inHome) || isAbsolute(inHome) ? path : `~/${inHome.replaceAll(sep, '/')}`
}

/** The path of a directory in the configuration, where `~` is the home directory. */
function expandHome(directory: string, home: string): string {
  return /^~(?=[/\\]|$)/.test(directory) ? resolve(home, `.${directory.slice(1)}`) : directory
}

/** Whether a path is that of a file or a directory, or of nothing yet. */
export function kindOf(directory: string, home: string): 'directory' | 'file' | undefined {
  const stats = statSync(expandHome(directory, home), { throwIfNoEntry: false })
  return stats && (stats.isDirectory() ? 'directory' : 'file')
}

/** The profile of the working directory, or else the default profile. */
export function profileHere(
  { directories = {}, default_profile: standard }: Configuration,
  workingDirectory: string,
  env: NodeJS.ProcessEnv,
): { value: string; source: 'directory' | 'profile'; from: string } | undefined {
  const paths = new Directories(env)
  const found = findDirectory(Object.keys(directories), workingDirectory, paths)
  const value = found === undefined ? undefined : directories[found]
  if (value !== undefined) return { value, source: 'directory', from: `the directory ${found}` }
  if (standard === undefined) return undefined
  return { value: standard, source: 'profile', from: configurationPath(paths) }
}

/**
 * Finds the nearest directory of the configuration that contains the working directory. The file system
 * decides whether two paths are one directory, because of links, and of names that differ only in case.
 * @returns the directory as it is in the configuration
 */
function findDirectory(
  directories: readonly string[],
  workingDirectory: string,
  paths: Directories,
): string | undefined {
  const known = new Map<string, string>()
  for (const directory of directories) {
    const path = expandHome(directory, directory.startsWith('~') ? paths.home : '')
    // A relative path would mean another directory in each working directory.
    const identity = isAbsolute(path) ? identityOf(path) : undefined
    if (identity !== undefined && !known.has(identity)) known.set(identity, directory)
  }
  if (known.size === 0) return undefined
  for (const path of ancestorsOf(workingDirectory)) {
    const found = known.get(identityOf(path) ?? '')
    if (found !== undefined) return found
  }
  return undefined
}

/** A directory and those that contain it, without links. Empty if it was deleted. */
function ancestorsOf(directory: string): string[] {
  const paths: string[] = []
  try {
    let path = realpathSync.native(directory)
    for (; dirname(path) !== path; path = dirname(path)) paths.push(path)
    return [...paths, path]
  } catch {
    return paths
  }
}

/** Undefined if it is not a directory, or cannot be read. */
function identityOf(path: string): string | undefined {
  try {
    const stats = statSync(path, { bigint: true })
    return stats.isDirectory() ? `${stats.dev} ${stats.ino}` : undefined
  } catch {
    return undefined
  }
}
