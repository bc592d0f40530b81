import { lstatSync, readFileSync, rmSync, type Stats } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '../../contract/failure.ts'
import { describeSystemError, systemFailure } from '../../system/describe-system-error.ts'
import type { Directories } from '../../system/files/directories.ts'
import { makePrivateDirectory } from '../../system/files/private-directory.ts'
import { removeLeftovers, replaceFile } from '../../system/files/replace-file.ts'
import { type CredentialOwner, type CredentialStore, digestOf } from './credential-store.ts'
import { parseStored, type StoredCredential } from './stored-credential.ts'

/**
 * One plain-text file per credential, used only if the user chose it. The mode is 0600 in a 0700 directory,
 * both owned by this user. A wider mode or a link is an error and is not corrected, because another user may
 * have read or planted the file.
 */
export class InsecureFile implements CredentialStore {
  readonly storage = 'file'
  readonly #directories: Directories

  constructor(directories: Directories) {
    this.#directories = directories
  }

  get #directory(): string {
    return join(this.#directories.data, 'credentials')
  }

  #pathOf(owner: CredentialOwner): string {
    return join(this.#directory, `${digestOf(owner)}.json`)
  }

  async read(owner: CredentialOwner): Promise<StoredCredential | undefined> {
    const path = this.#pathOf(owner)
    const text = readOwnFile(this.#directory, path)
    if (text === undefined) return undefined
    try {
      return parseStored(text)
    } catch (cause) {
      throw new Failure('unauthorized', `${path} ${(cause as Error).message}`, {
        code: 'insecure_file_unreadable',
        advice: [{ code: 'replace_credential', profile: owner.profile }],
        cause,
      })
    }
  }

  async write(owner: CredentialOwner, credential: StoredCredential): Promise<void> {
    const path = this.#pathOf(owner)
    try {
      makePrivateDirectory(this.#directory)
      demandOurs(this.#directory, lstatSync(this.#directory), 'directory')
      const there = lstatSync(path, { throwIfNoEntry: false })
      if (there) demandOurs(path, there, 'file')
      // This process holds the lock of the credential, so other temporary files are from killed processes.
      removeLeftovers(path)
      replaceFile(path, JSON.stringify(credential), { flush: true })
    } catch (cause) {
      throw systemFailure(`Cannot write ${path}`, cause)
    }
  }

  async delete(owner: CredentialOwner): Promise<boolean> {
    const path = this.#pathOf(owner)
    try {
      const directory = lstatSync(this.#directory, { throwIfNoEntry: false })
      // The target of a link belongs to something else.
      if (directory && !directory.isDirectory()) throw unsafe(this.#directory, 'is not a directory')
      const there = lstatSync(path, { throwIfNoEntry: false }) !== undefined
      if (directory) removeLeftovers(path)
      rmSync(path, { force: true })
      return there
    } catch (cause) {
      throw systemFailure(`Cannot delete ${path}`, cause)
    }
  }
}

/** @returns undefined if there is no such file */
function readOwnFile(directory: string, path: string): string | undefined {
  try {
    const ofDirectory = lstatSync(directory, { throwIfNoEntry: false })
    const ofFile = lstatSync(path, { throwIfNoEntry: false })
    if (!ofDirectory || !ofFile) return undefined
    // No other user can replace a file in a private directory.
    demandOurs(directory, ofDirectory, 'directory')
    demandOurs(path, ofFile, 'file')
    return readFileSync(path, 'utf8')
  } catch (cause) {
    if (cause instanceof Failure) throw cause
    throw new Failure('unauthorized', `Cannot read ${path}: ${describeSystemError(cause)}`, {
      code: 'insecure_file_unreadable',
      cause,
    })
  }
}

/** @throws Failure `unauthorized`, code `insecure_file_unsafe` */
function demandOurs(path: string, stats: Stats, kind: 'file' | 'directory'): void {
  if (kind === 'file' ? !stats.isFile() : !stats.isDirectory()) throw unsafe(path, `is not a plain ${kind}`)
  if (process.getuid === undefined) return
  if (stats.uid !== process.getuid()) throw unsafe(path, 'belongs to another user')
  if ((stats.mode & 0o077) !== 0) {
    throw unsafe(path, `is accessible to other users (mode ${(stats.mode & 0o777).toString(8)})`)
  }
}

function unsafe(path: string, why: string): Failure {
  return new Failure('unauthorized', `${path} ${why}, so its credential is not used`, {
    code: 'insecure_file_unsafe',
    hint: 'Delete it, and sign in again. If others may have read the API key, create a new one.',
  })
}
