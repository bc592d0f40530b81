import { statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { basename, dirname, resolve, sep } from 'node:path'
import { withoutTrailing } from '../contract/notation/text.ts'
import { orElse } from '../contract/or-else.ts'
import { joinFiles, splitFiles, type TextFile } from '../contract/resources/file-block.ts'
import type { Directories } from '../system/files/directories.ts'
import { maxFileBytes, readEach, readTextFileAt } from '../system/files/read-text-files.ts'
import type { Completions } from '../terminal/editor/completer.ts'
import { plainText, typedPart } from '../terminal/editor/pasted-text.ts'
import { describeBytes } from '../view/format/quantities.ts'

/** `@path` or `@"path"` as a word. */
const mention = /(?<=^|[\s([{])@(?:"([^"\n]+)"|([^\s"]+))/g
const punctuation = ".,;:!?)]}'*"
/** Maximum length of a path in characters (PATH_MAX of Linux). */
const maxPathLength = 4096

/** The files that are sent with the next message. */
export class Attachments {
  readonly #location: FileLocation
  readonly #maxBytes: number
  /** By name, so that a file is sent once. */
  readonly #files = new Map<string, TextFile>()
  /** The files of the message that is being edited. */
  #ofEdited: readonly TextFile[] = []

  /** @param maxBytes of each file (default: 1 MiB) */
  constructor(location: FileLocation, maxBytes = maxFileBytes) {
    this.#location = location
    this.#maxBytes = maxBytes
  }

  get files(): readonly TextFile[] {
    return [...this.#files.values()]
  }

  /** @throws Failure `refused` if the file cannot be sent */
  attach(name: string): TextFile {
    const file = this.#read(name)
    this.#files.set(name, file)
    return file
  }

  clear(): void {
    this.#files.clear()
    this.#ofEdited = []
  }

  /** Keeps the files of the last message for the message that replaces it. */
  edit(files: readonly TextFile[]): void {
    this.#ofEdited = files
  }

  /** Keeps the files of a message that could not be sent, except those that its entry attaches again. */
  restore(files: readonly TextFile[], entry: string): void {
    const named = this.#mentionedIn(typedPart(entry))
    for (const file of files) if (!named.includes(file.name)) this.#files.set(file.name, file)
  }

  /** Removes the files of a message that is sent again as it was. */
  forget(message: string): void {
    for (const { name } of splitFiles(message).files) this.#files.delete(name)
  }

  /**
   * Creates the next message, after which nothing is attached.
   * @param choice whether a typed `@path` attaches a file, and whether the message replaces the last one
   * @throws Failure `refused` that names every file that cannot be sent; then nothing has changed
   */
  async compose(entry: string, choice: { isLiteral: boolean; isEdited: boolean }): Promise<string> {
    const named = choice.isLiteral ? [] : this.#mentionedIn(typedPart(entry))
    const read = await readEach(named, (name) => this.#read(name))
    const all = [...(choice.isEdited ? this.#ofEdited : []), ...this.files, ...read]
    this.clear()
    const files = [...new Map(all.map((file) => [file.name, file])).values()]
    return joinFiles({ files, text: plainText(choice.isLiteral ? entry.slice(1) : entry) })
  }

  #read(name: string): TextFile {
    return readTextFileAt(name, this.#pathOf(name), this.#maxBytes)
  }

  /** The typed names that look like those of files, and are not. A name alone may be that of a person. */
  missingIn(entry: string): string[] {
    return this.#mentions(typedPart(entry)).flatMap(({ file, name, isQuoted }) =>
      file === undefined && (isQuoted || /[/\\]|\.\w/.test(name)) ? name : [],
    )
  }

  /** The names of other files in a text that exist. A server of a pasted network path must not learn of it. */
  untypedIn(entry: string, sent: readonly TextFile[]): string[] {
    const named = this.#mentionedIn(plainText(entry).replace(/@"?[\\/]{2}/g, ''))
    return named.filter((name) => sent.every((file) => file.name !== name))
  }

  /** The names of existing files that a text mentions. */
  #mentionedIn(text: string): string[] {
    return [...new Set(this.#mentions(text).flatMap(({ file }) => file ?? []))]
  }

  #mentions(text: string): { name: string; file: string | undefined; isQuoted: boolean }[] {
    return [...text.matchAll(mention)].flatMap(([, quoted, word = '']) => {
      if (word.length > maxPathLength) return []
      const name = quoted ?? withoutTrailing(word, punctuation)
      const file = [quoted ?? word, name].find((one) => this.#isFile(one))
      return [{ name, file, isQuoted: quoted !== undefined }]
    })
  }

  #isFile(name: string): boolean {
    return orElse(() => statSync(this.#pathOf(name)).isFile(), false)
  }

  #pathOf(name: string): string {
    return resolve(this.#location.cwd ?? '', expandHome(name, this.#location))
  }
}

/** `a.ts (1.2 KiB), b.ts (30 bytes)`. */
export function describeFiles(files: readonly TextFile[]): string {
  return files.map(({ name, content }) => `${name} (${describeBytes(Buffer.byteLength(content))})`).join(', ')
}

/** Base of file names. */
export interface FileLocation {
  directories: Pick<Directories, 'home'>
  /** Undefined for the working directory of the process. */
  cwd: string | undefined
}

export function expandHome(path: string, { directories }: FileLocation): string {
  // Windows has two separators.
  const isInHome = path === '~' || path.startsWith('~/') || path.startsWith(`~${sep}`)
  return isInHome ? directories.home + path.slice(1) : path
}

const noCompletions: Completions = { start: 0, candidates: [] }

/** Completes a path. @param from index of the path in the line */
export async function completePath(typed: string, from: number, place: FileLocation): Promise<Completions> {
  const name = typed.endsWith('/') ? '' : basename(typed)
  const start = from + typed.length - name.length
  const directory = resolve(place.cwd ?? '', typed === name ? '.' : dirname(`${expandHome(typed, place)}x`))
  try {
    const entries = await readdir(directory, { withFileTypes: true })
    const found = entries.filter(
      (entry) => entry.name.startsWith(name) && (name !== '' || !entry.name.startsWith('.')),
    )
    return {
      start,
      candidates: found.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name)).sort(),
    }
  } catch {
    return noCompletions
  }
}

/** Completes `@path` at the end of a line. A path with a space is quoted. @param before the line up to the cursor */
export async function completeMention(before: string, place: FileLocation): Promise<Completions> {
  const [mention, quoted, word] =
    /(?<=^|[\s([{])@(?:"([^"]*)|([^\s"]*))$/.exec(before.slice(-maxPathLength)) ?? []
  if (mention === undefined) return noCompletions
  const typed = quoted ?? word ?? ''
  const from = before.length - typed.length
  const { start, candidates } = await completePath(typed, from, place)
  const isQuoted = quoted !== undefined || candidates.some((name) => /\s/.test(name))
  if (!isQuoted) return { start, candidates }
  const directory = typed.slice(0, start - from)
  return {
    start: before.length - mention.length,
    // A directory stays open, so that its path can continue.
    candidates: candidates.map((name) => `@"${directory}${name}${name.endsWith('/') ? '' : '"'}`),
  }
}
