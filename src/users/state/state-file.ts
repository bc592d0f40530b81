import { hash } from 'node:crypto'
import { copyFileSync, existsSync, lstatSync, readlinkSync, realpathSync, rmSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import * as z from 'zod/mini'
import { nameOfService } from '../../contract/base-url.ts'
import { Failure } from '../../contract/failure.ts'
import { locateJson } from '../../contract/notation/locate-json.ts'
import { placesIn } from '../../contract/notation/located.ts'
import { joinLines } from '../../contract/notation/text.ts'
import { systemFailure } from '../../system/describe-system-error.ts'
import { DocumentFile } from '../../system/files/document-file.ts'
import { demandProcessLock } from '../../system/files/process-lock.ts'
import { maxTextBytes, readNamedFile } from '../../system/files/read-named-file.ts'
import { decodeText } from '../../system/files/read-text-files.ts'
import { moveIntoPlace, removeLeftovers, temporaryPath } from '../../system/files/replace-file.ts'
import { EntryMap, formatEntry, keyOf, readEntry, type StateEntry } from './state-entry.ts'

/** A state file on disk. */
export interface StateFile {
  path: string
  /** For errors. */
  name: string
}

export interface StateHeader {
  service: string
  /** Number of the generation. */
  serial: number
}

const format = 'chatctl-users-state'
const version = 1

const header = z.strictObject({
  format: z.literal(format),
  v: z.literal(version),
  service: z.string(),
  serial: z.int().check(z.nonnegative()),
  users: z.custom<readonly unknown[]>(Array.isArray),
})

/** The last characters of the first line, and the whole last line, if chatctl wrote the file. */
const opening = '"users":['
const closing = ']}'

const conflictMarker = /^(<{7}|\|{7}|={7}|>{7})( |$)/

const backupOf = (path: string): string => `${path}.backup`

/** The path without symbolic links; the last one may name a file that does not exist yet. */
export function targetOf(path: string): string {
  if (existsSync(path)) return realpathSync(path)
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()
  return isLink ? resolve(dirname(path), readlinkSync(path)) : path
}

/**
 * Reads a state file. The lines that chatctl wrote may have any order and any commas at their ends, as after a merge.
 * @throws Failure `refused` for invalid content, with its line; `conflict` for another version; `storage`
 */
export function readStateFile(file: StateFile): {
  header: StateHeader
  entries: EntryMap
  digest: string
} {
  const { path, name } = file
  if (!statSync(path).isFile()) throw new Failure('refused', `Cannot read ${name}: it is not a regular file`)
  const bytes = readNamedFile(name, { at: path, maxBytes: maxTextBytes, kind: 'refused' })
  const { text, value } = parse(file, decodeText(bytes, name))
  const { users, service, serial } = readHeader(value, file, text)
  const entries = new EntryMap()
  const refuse = (index: number, words: string): never => {
    throw invalid(file, lineIn(text, 'users', index), words)
  }
  const refuseSecond = (index: number, words: string, isSame: (other: StateEntry) => boolean): never => {
    const earlier = users.findIndex((other) => isSame(other as StateEntry))
    return refuse(index, `${words} is also on line ${lineIn(text, 'users', earlier)}`)
  }
  for (const [index, user] of users.entries()) {
    const entry = readEntry(user)
    if (typeof entry === 'string') return refuse(index, entry)
    const { email, id } = entry
    const key = keyOf(email)
    if (entries.byKey.has(key))
      refuseSecond(index, JSON.stringify(email), (other) => keyOf(other.email) === key)
    if (id !== undefined && entries.findById(id))
      refuseSecond(index, `the id ${JSON.stringify(id)}`, (other) => other.id === id)
    entries.put(entry)
  }
  return { header: { service, serial }, entries, digest: digestOf(bytes) }
}

/** Names a generation by its content. */
function digestOf(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'base64url').slice(0, 22)
}

/**
 * Parses the text without changes first, because a copy with commas takes as much memory again.
 * @returns the text that was valid, and its value
 */
function parse(file: StateFile, read: string): { text: string; value: unknown } {
  try {
    return { text: read, value: JSON.parse(read) }
  } catch {
    const text = withCommas(read)
    try {
      return { text, value: JSON.parse(text) }
    } catch {
      throw faultOf(file, text)
    }
  }
}

/** The text with one comma between the lines of the users. */
function withCommas(text: string): string {
  const lines = text.trimEnd().split('\n')
  if (!lines[0]?.trimEnd().endsWith(opening) || lines.at(-1) !== closing) return text
  const last = lines.findLastIndex((line, at) => at < lines.length - 1 && line.trim() !== '')
  return lines
    .map((line, at) => {
      if (at === 0 || at > last || line.trim() === '') return line
      const body = line.trimEnd().replace(/,$/, '')
      return at < last ? `${body},` : body
    })
    .join('\n')
}

/** The line of a field of the header, or of a user. */
function lineIn(text: string, field: string, index?: number): number {
  const { root } = locateJson(text, { depth: 10 })
  const entry = root?.kind === 'map' ? root.entries.find(({ key }) => key === field) : undefined
  const list = entry?.value
  const item = index !== undefined && list?.kind === 'list' ? list.items[index] : undefined
  return placesIn(text)(item?.at ?? entry?.keyAt ?? 0).line
}

/** Why a text is not JSON. */
function faultOf(file: StateFile, text: string): Failure {
  const marked = text.split('\n').findIndex((line) => conflictMarker.test(line.trimEnd()))
  if (marked !== -1) {
    const words = `${file.name}:${marked + 1}: a merge conflict is not resolved`
    return new Failure('refused', words, {
      hint: 'Take one version of the file, and add the users of the other one with: chatctl users state merge FILE OTHER',
    })
  }
  const at = locateJson(text, { depth: 10 }).fault?.at ?? text.length
  const { line, column } = placesIn(text)(at)
  const isAtEnd = text.slice(at).trim() === '' || (text.at(at) === '"' && !text.includes('\n', at))
  return invalid(file, line, isAtEnd ? 'the file is truncated' : `not valid JSON at column ${column}`)
}

function readHeader(value: unknown, file: StateFile, text: string): z.infer<typeof header> {
  const found = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  if (found['format'] !== format) {
    throw new Failure('refused', `${file.name} is not a state file of users`, {
      hint: 'Choose another state file. chatctl did not change this file.',
    })
  }
  const { v } = found
  if (typeof v === 'number' && v !== version) {
    throw new Failure(
      'conflict',
      `${file.name} was written by another version of chatctl (format ${v}; this version reads format ${version})`,
      { hint: v > version ? 'Update chatctl.' : backupHint(file) },
    )
  }
  const parsed = z.safeParse(header, value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const name = String(issue?.code === 'unrecognized_keys' ? issue.keys[0] : (issue?.path[0] ?? ''))
  throw invalid(file, lineIn(text, name), `${name} is invalid`)
}

/** @param hint default: where the previous generation is */
export function invalid(file: StateFile, line: number, what: string, hint = backupHint(file)): Failure {
  return new Failure('refused', joinLines([`${file.name}:${line}: ${what}`]), { hint })
}

function backupHint({ path, name }: StateFile): string | undefined {
  return existsSync(backupOf(path)) ? `The previous generation is in ${backupOf(name)}` : undefined
}

export function otherService(name: string, found: string, service: string): Failure {
  return new Failure(
    'conflict',
    `${name} is for ${nameOfService(found)}, not for ${nameOfService(service)}`,
    { hint: 'Choose that service with --profile or --base-url, or another state file with --state' },
  )
}

/**
 * Refuses to begin a new state beside the backup of another: its users would be created a second time.
 * @throws Failure `refused`
 */
export function assertNotDeleted({ path, name }: StateFile): void {
  if (existsSync(path) || !existsSync(backupOf(path))) return
  throw new Failure('refused', `${name} does not exist, but its backup ${backupOf(name)} does`, {
    hint: 'Copy the backup over the file. To begin a new state, delete the backup.',
  })
}

/**
 * Replaces the state file atomically. A new file has mode 0600; an existing one keeps its mode, and is kept
 * as a backup.
 * @param entries sorted
 * @returns the digest of the new content
 * @throws Failure `storage`; the file is unchanged then
 */
export async function writeStateFile(
  { path, name }: StateFile,
  { service, serial }: StateHeader,
  entries: readonly StateEntry[],
): Promise<string> {
  const found = statSync(path, { throwIfNoEntry: false })
  const document = new DocumentFile(path, { mode: found && found.mode & 0o777 })
  try {
    removeLeftovers(path)
    removeLeftovers(backupOf(path))
    const head = JSON.stringify({ format, v: version, service, serial, users: [] })
    const lines = entries.map(formatEntry).join(',\n')
    const bytes = Buffer.from(`${head.slice(0, -closing.length)}\n${lines}${lines && '\n'}${closing}\n`)
    await document.write(bytes)
    if (found) keepBackup(path)
    await document.finish()
    return digestOf(bytes)
  } catch (cause) {
    await document.discard()
    throw systemFailure(`Cannot write ${name}`, cause)
  }
}

/** A copy, because a link would change with a file that an editor writes in place. */
function keepBackup(path: string): void {
  const temporary = temporaryPath(backupOf(path))
  try {
    copyFileSync(path, temporary)
    moveIntoPlace(temporary, backupOf(path))
  } finally {
    rmSync(temporary, { force: true })
  }
}

/** @throws Failure `conflict` if another process holds the lock; `storage` */
export function lock({ path, name }: StateFile): () => void {
  try {
    return demandProcessLock(`${path}.lock`, `Another chatctl process is using ${name}`, {
      hint: 'Wait until it ends. Then run the same command again.',
    })
  } catch (cause) {
    const hint = 'chatctl also creates a lock, a state journal, and a backup in this directory.'
    throw systemFailure(`Cannot write ${name}`, cause, hint)
  }
}
