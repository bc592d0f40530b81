import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { targets } from '../executable/targets.ts'

/** A file that people download. */
export interface Download {
  file: string
  url: string
  sha256: string
}

/** All that the installers and manifests say about a release. */
export interface Release {
  version: string
  summary: string
  license: string
  /** The day of the release, `2026-01-31`. */
  date: string
  /** The address of the repository, such as `https://github.com/OWNER/chatctl`. */
  project: string
  /** The first part of the path of the repository. */
  owner: string
  /** The address of the directories that contain the files of each version. */
  downloads: string
  /** The archives that exist, by target. */
  archives: Record<string, Download>
}

interface Project {
  /** The address of the repository. */
  address: string
  owner: string
}

/** The parts of package.json that describe a release. */
interface PackageFile {
  version: string
  description: string
  license: string
}

export function isWindows(target: string): boolean {
  return targets[target]?.platform === 'win32'
}

export function archiveName(version: string, target: string): string {
  return `chatctl-${version}-${target}.${isWindows(target) ? 'zip' : 'tar.gz'}`
}

/**
 * @param directory contains the archives
 * @param date day of the release
 */
export function describeRelease(
  { version, description, license }: PackageFile,
  directory: string,
  { owner, address }: Project,
  date: string,
  included: readonly string[],
): Release {
  const downloads = `${address}/releases/download`
  const archives = included.map((target) => {
    const file = archiveName(version, target)
    const sha256 = hashFile(join(directory, file))
    return [target, { file, url: `${downloads}/v${version}/${file}`, sha256 }]
  })
  return {
    version,
    summary: description,
    license,
    date,
    project: address,
    owner,
    downloads,
    archives: Object.fromEntries(archives),
  }
}

/** @throws Error unless the address is that of a repository, and safe to put between quotes */
export function parseProject(address: string): Project {
  const [, origin = '', owner = ''] =
    /^(https?:\/\/[\w.-]+(?::\d+)?)\/([\w-]{1,32})\/[\w.-]+$/.exec(address) ?? []
  if (!/^https:|^http:\/\/127\.0\.0\.1:/.test(origin))
    throw new Error(
      `"${address}" is not the address of a repository. Pass it with: --url https://github.com/OWNER/NAME`,
    )
  return { owner, address }
}

export function hashFile(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex')
}
