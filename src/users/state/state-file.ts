import { copyFileSync, existsSync, lstatSync, readlinkSync, realpathSync, rmSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import * as z from 'zod/mini'
import { Failure } from '../../contract/failure.ts'
import { type LocatedJson, locateJson } from '../../contract/notation/locate-json.ts'
import { placesIn } from '../../contract/notation/located.ts'
import { nameOfService } from '../../contract/resources/saved-plan.ts'
import { describeSystemError } from '../../system/describe-system-error.ts'
import { DocumentFile } from '../../system/files/document-file.ts'
import { maxTextBytes, readNamedFile } from '../../system/files/read-named-file.ts'
import { decodeText } from '../../system/files/read-text-files.ts'
import { moveIntoPlace, removeLeftovers, temporaryPath } from '../../system/files/replace-file.ts'
import { formatEntry, keyOf, readEntry, type StateEntry } from './state-entry.ts'

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
  users: z.array(z.unknown()),
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

/** To notice that another program has replaced a file. */
export function identityOf({ path }: StateFile): string | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stats && `${stats.ino} ${stats.mtimeNs}`
}

/**
 * Reads a state file. The lines that chatctl wrote may have any order and any commas at their ends, as after a merge.
 *
 * @throws Failure `refused` for invalid content, with its line; `conflict` for another version; `storage`
 */
export function readStateFile(file: StateFile): { header: StateHeader; entries: StateEntry[] } {
  const { path, name } = file
  if (!statSync(path).isFile()) throw new Failure('refused', `Cannot read ${name}: it is not a regular file`)
  const bytes = readNamedFile(name, { at: path, maxBytes: maxTextBytes, kind: 'refused' })
  const text = withCommas(decodeText(bytes, name))
  const located = new Places(file, text)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw located.fault()
  }
  const { users, service, serial } = readHeader(value, file, located)
  const lines = new Map<string, number>()
  /** @returns the earlier entry with the value, if there is one */
  const claim = (kind: 'email' | 'id', value: string, index: number): number | undefined => {
    const key = `${kind} ${value}`
    const earlier = lines.get(key)
    if (earlier === undefined) lines.set(key, index)
    return earlier
  }
  const entries = users.map((user, index) => {
    const entry = readEntry(user)
    if (typeof entry === 'string') throw invalid(file, located.lineOf(index), entry)
    const { email, id } = entry
    const ofEmail = claim('email', keyOf(email), index)
    if (ofEmail !== undefined) throw located.repeated(index, ofEmail, JSON.stringify(email), '')
    const ofId = id === undefined ? undefined : claim('id', id, index)
    if (ofId !== undefined)
      throw located.repeated(index, ofId, `the id ${JSON.stringify(id)}`, ', with another email')
    return entry
  })
  return { header: { service, serial }, entries }
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

/** Finds the places of faults, only if there are any. */
class Places {
  readonly #file: StateFile
  readonly #text: string
  #located: LocatedJson | undefined

  constructor(file: StateFile, text: string) {
    this.#file = file
    this.#text = text
  }

  /** The line of a user. */
  lineOf(index: number): number {
    const list = this.#entryOf('users')?.value
    return this.#placeOf(list?.kind === 'list' ? (list.items[index]?.at ?? 0) : 0).line
  }

  /** The line of a field of the header. */
  lineOfField(name: string): number {
    return this.#placeOf(this.#entryOf(name)?.keyAt ?? 0).line
  }

  /** Why the text is not JSON. */
  fault(): Failure {
    const text = this.#text
    const marked = text.split('\n').findIndex((line) => conflictMarker.test(line.trimEnd()))
    if (marked !== -1) {
      const words = `${this.#file.name}:${marked + 1}: a merge conflict is not resolved`
      return new Failure('refused', words, { advice: [{ code: 'merge_states' }] })
    }
    const at = this.#json().fault?.at ?? text.length
    const { line, column } = this.#placeOf(at)
    const isAtEnd = text.slice(at).trim() === '' || (text.at(at) === '"' && !text.includes('\n', at))
    return invalid(this.#file, line, isAtEnd ? 'the file is truncated' : `not valid JSON at column ${column}`)
  }

  repeated(index: number, earlier: number, what: string, more: string): Failure {
    const words = `${what} is also on line ${this.lineOf(earlier)}${more}`
    return invalid(this.#file, this.lineOf(index), words, 'Keep the one that the service reports.')
  }

  #entryOf(name: string) {
    const { root } = this.#json()
    return root?.kind === 'map' ? root.entries.find(({ key }) => key === name) : undefined
  }

  #json(): LocatedJson {
    this.#located ??= locateJson(this.#text, { depth: 10 })
    return this.#located
  }

  #placeOf(at: number) {
    return placesIn(this.#text)(at)
  }
}

function readHeader(value: unknown, file: StateFile, located: Places): z.infer<typeof header> {
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
  throw invalid(file, located.lineOfField(name), `${name} is invalid`)
}

/** @param hint default: where the previous generation is */
export function invalid(file: StateFile, line: number, what: string, hint = backupHint(file)): Failure {
  return new Failure('refused', `${file.name}:${line}: ${what}`, { hint })
}

function backupHint({ path, name }: StateFile): string | undefined {
  return existsSync(backupOf(path)) ? `The previous generation is in ${backupOf(name)}` : undefined
}

export function otherService(name: string, found: string, service: string): Failure {
  return new Failure(
    'conflict',
    `${name} is for ${nameOfService(found)}, not for ${nameOfService(service)}`,
    { advice: [{ code: 'service_of_state' }] },
  )
}

/**
 * Refuses to begin a new state beside the backup of another: its users would be created a second time.
 *
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
 *
 * @param entries sorted
 * @throws Failure `storage`; the file is unchanged then
 */
export async function writeStateFile(
  { path, name }: StateFile,
  { service, serial }: StateHeader,
  entries: readonly StateEntry[],
): Promise<void> {
  const found = statSync(path, { throwIfNoEntry: false })
  const document = new DocumentFile(path, { mode: found && found.mode & 0o777 })
  try {
    removeLeftovers(path)
    removeLeftovers(backupOf(path))
    const head = JSON.stringify({ format, v: version, service, serial, users: [] })
    const lines = entries.map(formatEntry).join(',\n')
    await document.write(
      Buffer.from(`${head.slice(0, -closing.length)}\n${lines}${lines && '\n'}${closing}\n`),
    )
    if (found) keepBackup(path)
    await document.finish()
  } catch (cause) {
    await document.discard()
    if (cause instanceof Failure) throw cause
    throw new Failure('storage', `Cannot write ${name}: ${describeSystemError(cause)}`, { cause })
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
