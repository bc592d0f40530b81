import { orElse } from '../or-else.ts'
/** A text file in a message. */
export interface TextFile {
  /** The path as the user gave it. */
  name: string
  content: string
}

/** A message and the files in it. */
export interface MessageParts {
  files: readonly TextFile[]
  text: string
}

const label = 'File: '
/** Within a block, a content without a final newline looks like one with it. */
const openLabel = 'File without a final newline: '
const separator = '\n\n'

/**
 * Creates a message from files and a text. The files come first, because models follow a question better
 * after a long document than before it. Each file is a labeled code block:
 *
 *     File: src/hello.ts
 *
 *     ```ts
 *     console.log('Hello')
 *     ```
 */
export function joinFiles({ files, text }: MessageParts): string {
  return [...files.map(renderBlock), ...(text === '' ? [] : [text])].join(separator)
}

/** The inverse of `joinFiles`. A text that begins with a block counts as a file. */
export function splitFiles(message: string): MessageParts {
  const files: TextFile[] = []
  let rest = message
  for (let file = readBlock(rest); file; file = readBlock(rest)) {
    files.push(file)
    rest = rest.slice(renderBlock(file).length)
    if (rest === '') break
    rest = rest.slice(separator.length)
  }
  return { files, text: rest }
}

function renderBlock({ name, content }: TextFile): string {
  const isOpen = content !== '' && !content.endsWith('\n')
  const fence = fenceFor(content)
  return `${isOpen ? openLabel : label}${renderName(name)}${separator}${fence}${languageOf(name)}\n${content}${isOpen ? '\n' : ''}${fence}`
}

/** The file of the block with which a text begins. Undefined if `renderBlock` would not create that block. */
function readBlock(text: string): TextFile | undefined {
  const header = /^File( without a final newline)?: ([^\n]+)\n\n(`{3,})(?!`)[^\n]*\n/.exec(text)
  if (!header) return undefined
  const [all, isOpen, name = '', fence = ''] = header
  const end = text.indexOf(fence, all.length)
  if (end < 0) return undefined
  const content = text.slice(all.length, isOpen ? end - 1 : end)
  const file = { name: readName(name), content }
  const block = renderBlock(file)
  const isWhole = text.length === block.length
  const hasMore = text.startsWith(separator, block.length) && text.length > block.length + separator.length
  return text.startsWith(block) && (isWhole || hasMore) ? file : undefined
}

/** A fence that is longer than each run of backticks in the content. @param least its minimum length */
export function fenceFor(content: string, least = 3): string {
  let length = least
  for (const [run] of content.matchAll(/`+/g)) length = Math.max(length, run.length + 1)
  return '`'.repeat(length)
}

/** The file extension as the language of a code block. Empty for a name without one. */
function languageOf(name: string): string {
  const [, extension = ''] = /[^/\\]\.([a-z][\w+-]{0,15})$/i.exec(name) ?? []
  return extension.toLowerCase()
}

/** A name on one line. A name with control characters is quoted as in JSON. */
function renderName(name: string): string {
  return /^["\s]|[\p{C}\p{Zl}\p{Zp}]|\s$|^$/u.test(name) ? JSON.stringify(name) : name
}

function readName(rendered: string): string {
  return rendered.startsWith('"') ? orElse(() => String(JSON.parse(rendered)), rendered) : rendered
}
