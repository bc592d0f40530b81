import { isUtf8 } from 'node:buffer'
import { lstatSync, readdirSync, realpathSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '../../contract/failure.ts'
import { nearest } from '../../contract/nearest-word.ts'
import { conversionHint, encodingWords } from '../../contract/notation/text.ts'
import { systemFailure } from '../../system/describe-system-error.ts'
import type { Directories } from '../../system/files/directories.ts'
import { makePrivateDirectory } from '../../system/files/private-directory.ts'
import { maxPromptBytes, readNamedFile } from '../../system/files/read-named-file.ts'
import { replaceFile } from '../../system/files/replace-file.ts'

const extension = '.md'
const maxNameLength = 64

/** The prompts of this machine: the files `prompts/NAME.md` in the configuration directory. */
export class PromptLibrary {
  readonly directory: string

  constructor({ config }: Pick<Directories, 'config'>) {
    this.directory = join(config, 'prompts')
  }

  /** The names of all prompts, sorted. @throws Failure `storage` if the directory cannot be read */
  names(): string[] {
    try {
      return readdirSync(this.directory)
        .filter((file) => file.endsWith(extension))
        .map((file) => file.slice(0, -extension.length))
        .filter((name) => isPromptName(name) && this.has(name))
        .sort()
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException
      if (code === 'ENOENT' || code === 'ENOTDIR') return []
      throw systemFailure(`Cannot read ${this.directory}`, cause)
    }
  }

  /** @throws Failure `usage` for a name that no prompt can have */
  pathOf(name: string): string {
    if (isPromptName(name)) return join(this.directory, `${name}${extension}`)
    throw new Failure('usage', `"${name}" is not a valid prompt name`, {
      hint: `Use at most ${maxNameLength} characters: letters, digits, and . _ -. The first must be a letter, a digit, or _.`,
    })
  }

  has(name: string): boolean {
    return statSync(this.pathOf(name), { throwIfNoEntry: false })?.isFile() ?? false
  }

  /**
   * The text of the file of a prompt.
   * @throws Failure `not_found` if there is no such prompt, `refused` if its file is not text
   */
  read(name: string): string {
    const path = this.pathOf(name)
    this.demand([name])
    const bytes = readNamedFile(path, { maxBytes: maxPromptBytes, kind: 'refused' })
    if (!isUtf8(bytes)) {
      const hint = conversionHint(bytes, path)
      throw new Failure('refused', `${path} is ${encodingWords(bytes)}`, { hint })
    }
    const text = new TextDecoder().decode(bytes)
    if (text.includes('\0')) throw new Failure('refused', `${path} is not text: it has a NUL character`)
    return text
  }

  /** @throws Failure `not_found` that names every prompt that does not exist */
  demand(names: readonly string[]): void {
    const missing = names.filter((name) => !this.has(name))
    const [first] = missing
    if (first === undefined) return
    const meant = nearest(first.replace(/\.md$/, ''), this.names())
    throw new Failure('not_found', `Unknown prompt ${missing.map((name) => `"${name}"`).join(', ')}`, {
      hint: meant === undefined ? undefined : `Did you mean ${meant}?`,
      // A session has another hint.
      advice: [{ code: 'list_prompts' }],
    })
  }

  /**
   * Replaces or creates the file of a prompt. The target of a symbolic link is replaced, not the link.
   * @throws Failure `storage`; the file is unchanged then
   */
  write(name: string, text: string): void {
    const path = this.pathOf(name)
    try {
      makePrivateDirectory(this.directory)
      const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() && this.has(name)
      replaceFile(isLink ? realpathSync(path) : path, text, { flush: true })
    } catch (cause) {
      throw systemFailure(`Cannot write ${path}`, cause)
    }
  }

  /** @throws Failure `storage` */
  remove(name: string): void {
    const path = this.pathOf(name)
    try {
      rmSync(path)
    } catch (cause) {
      throw systemFailure(`Cannot delete ${path}`, cause)
    }
  }
}

function isPromptName(name: string): boolean {
  return name.length <= maxNameLength && /^\w[\w.-]*$/.test(name)
}
