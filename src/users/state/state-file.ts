import { copyFileSync, createReadStream, existsSync, rmSync, statSync } from 'node:fs'
import * as z from 'zod/mini'
import { Failure } from '../../contract/failure.ts'
import { locateJson } from '../../contract/notation/locate-json.ts'
import { placesIn } from '../../contract/notation/located.ts'
import { describeSystemError } from '../../system/describe-system-error.ts'
import { DocumentFile } from '../../system/files/document-file.ts'
import { demandSize, maxTextBytes } from '../../system/files/read-named-file.ts'
import { moveIntoPlace, removeLeftovers, temporaryPath } from '../../system/files/replace-file.ts'
import { decodeChunks } from '../input/text/decode-chunks.ts'
import { TextLines } from '../input/text/text-lines.ts'
import { type EntryText, readEntry, readFormatted, textOf } from './state-entry.ts'

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

/** Called with each user and its line. */
type OnEntry = (entry: EntryText, line: number) => void

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
const bounds = { depth: 10 }

const backupOf = (path: string): string => `${path}.backup`

/**
 * Reads a state file. One that chatctl wrote is read line by line, with any order of the lines and any commas
 * at their ends, as after a merge. One that was formatted differently is read at once.
 *
 * @throws Failure `refused` for invalid content, with its line; `conflict` for another version; `storage`
 */
export async function readStateFile(
  file: StateFile,
  signal: AbortSignal,
  onEntry: OnEntry,
): Promise<StateHeader> {
  const chunks = decodeChunks({ name: file.name, read: () => readChunks(file, signal) })
  const { done, value: first = '' } = await chunks.next()
  const firstLine = first.slice(0, first.indexOf('\n') + 1).trimEnd()
  if (!done && firstLine.endsWith(opening)) {
    const value = parse(firstLine + closing)
    if (value !== undefined) {
      const read = readHeader(value, file, () => 1)
      await readLines(file, first, chunks, onEntry)
      return read
    }
  }
  let text = first
  for await (const chunk of chunks) {
    text += chunk
    demandSize(text.length, maxTextBytes, file.name, 'refused')
  }
  return readWhole(file, text, onEntry)
}

async function* readChunks({ path, name }: StateFile, signal: AbortSignal): AsyncGenerator<Buffer> {
  try {
    if (!statSync(path).isFile())
      throw new Failure('refused', `Cannot read ${name}: it is not a regular file`)
    for await (const chunk of createReadStream(path, { highWaterMark: 64 * 1024 })) {
      signal.throwIfAborted()
      yield chunk
    }
  } catch (cause) {
    if (cause instanceof Failure || signal.aborted) throw cause
    throw new Failure('storage', `Cannot read ${name}: ${describeSystemError(cause)}`, { cause })
  }
}

async function readLines(
  file: StateFile,
  first: string,
  chunks: AsyncIterable<string>,
  onEntry: OnEntry,
): Promise<void> {
  const lines = new TextLines(file.name)
  let last = 1
  let isClosed = false
  const take = (text: string, isLast: boolean): void => {
    for (const { line, text: raw } of lines.take(text, isLast)) {
      const content = raw.trim()
      last = line
      if (line === 1 || content === '') continue
      if (isClosed) throw invalid(file, line, 'nothing may follow the end of the list')
      if (content === closing) isClosed = true
      else readLine(file, line, content, { isLast, onEntry })
    }
  }
  take(first, false)
  for await (const chunk of chunks) take(chunk, false)
  take('', true)
  if (!isClosed) throw truncated(file, last)
}

function readLine(
  file: StateFile,
  line: number,
  content: string,
  { isLast, onEntry }: { isLast: boolean; onEntry: OnEntry },
): void {
  const body = content.endsWith(',') ? content.slice(0, -1) : content
  const formatted = readFormatted(body)
  if (formatted !== undefined) {
    onEntry(formatted, line)
    return
  }
  if (conflictMarker.test(content)) throw unmerged(file, line)
  const value = parse(body)
  if (value === undefined)
    throw isLast ? truncated(file, line) : invalid(file, line, 'the line is not a JSON object')
  const [again] = locateJson(body, bounds).repeated
  if (again) throw invalid(file, line, `${JSON.stringify(again.name)} occurs twice`)
  takeEntry(file, value, line, onEntry)
}

function readWhole(file: StateFile, text: string, onEntry: OnEntry): StateHeader {
  if (text.trim() === '') throw truncated(file, 1)
  const marked = text.split('\n').findIndex((line) => conflictMarker.test(line.trimEnd()))
  if (marked !== -1) throw unmerged(file, marked + 1)
  const { root, fault, repeated } = locateJson(text, bounds)
  const placeOf = placesIn(text)
  const lineOf = (at: number): number => placeOf(at).line
  if (fault !== undefined) {
    const { line, column } = placeOf(fault.at)
    const isAtEnd = text.slice(fault.at).trim() === '' || text.at(fault.at) === '"'
    throw isAtEnd ? truncated(file, line) : invalid(file, line, `not valid JSON at column ${column}`)
  }
  const [again] = repeated
  if (again) throw invalid(file, lineOf(again.at), `${JSON.stringify(again.name)} occurs twice`)
  const entriesOf = (name: string) =>
    root?.kind === 'map' ? root.entries.find(({ key }) => key === name) : undefined
  const read = readHeader(JSON.parse(text), file, (name) => lineOf(entriesOf(name)?.keyAt ?? 0))
  const list = entriesOf('users')?.value
  const items = list?.kind === 'list' ? list.items : []
  read.users.forEach((user, index) => {
    takeEntry(file, user, lineOf(items[index]?.at ?? 0), onEntry)
  })
  return read
}

/** @param lineOf a field of the header */
function readHeader(
  value: unknown,
  file: StateFile,
  lineOf: (name: string) => number,
): z.infer<typeof header> {
  const found = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  if (found['format'] !== format) {
    throw new Failure('refused', `${file.name} is not a state file of users`, {
      hint: 'Choose another state file. chatctl did not change this file.',
    })
  }
  const { v } = found
  if (typeof v === 'number' && v !== version) {
    const [age, hint] = v > version ? ['a newer', 'Update chatctl.'] : ['an older', backupHint(file)]
    throw new Failure(
      'conflict',
      `${file.name} was written by ${age} version of chatctl (format ${v}; this version reads format ${version})`,
      { hint },
    )
  }
  const parsed = z.safeParse(header, value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const name = String(issue?.code === 'unrecognized_keys' ? issue.keys[0] : (issue?.path[0] ?? ''))
  throw invalid(file, lineOf(name), `${name} is invalid`)
}

function takeEntry(file: StateFile, value: unknown, line: number, onEntry: OnEntry): void {
  const entry = readEntry(value)
  if (typeof entry === 'string') throw invalid(file, line, entry)
  onEntry(textOf(entry), line)
}

/** @param hint default: where the previous generation is */
export function invalid(file: StateFile, line: number, what: string, hint = backupHint(file)): Failure {
  return new Failure('refused', `${file.name}:${line}: ${what}`, { hint })
}

function truncated(file: StateFile, line: number): Failure {
  return invalid(file, line, 'the file is truncated')
}

function unmerged({ name }: StateFile, line: number): Failure {
  const words = `${name}:${line}: a merge conflict is not resolved`
  return new Failure('refused', words, { advice: [{ code: 'merge_states' }] })
}

function backupHint({ path, name }: StateFile): string | undefined {
  return existsSync(backupOf(path)) ? `The previous generation is in ${backupOf(name)}` : undefined
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

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * Replaces the state file atomically. A new file has mode 0600; an existing one keeps its mode, and is kept
 * as a backup.
 *
 * @param bodies the users as `formatEntry` writes them, sorted
 * @throws Failure `storage`; the file is unchanged then
 */
export async function writeStateFile(
  { path, name }: StateFile,
  { service, serial }: StateHeader,
  bodies: Iterable<string>,
): Promise<void> {
  const found = statSync(path, { throwIfNoEntry: false })
  const document = new DocumentFile(path, { mode: found && found.mode & 0o777 })
  try {
    removeLeftovers(path)
    removeLeftovers(backupOf(path))
    const head = JSON.stringify({ format, v: version, service, serial, users: [] })
    let text = head.slice(0, -closing.length)
    let separator = '\n'
    for (const body of bodies) {
      text += separator + body
      separator = ',\n'
      if (text.length < 64 * 1024) continue
      await document.write(Buffer.from(text))
      text = ''
    }
    await document.write(Buffer.from(`${text}\n${closing}\n`))
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
