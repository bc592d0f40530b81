import type { RowKind } from '../../rows/imported-user.ts'
import type { Input } from '../input.ts'
import { decodeChunks } from './decode-chunks.ts'
import { TextLines } from './text-lines.ts'

const blank = /^\s*(#.*|%.*|---\s*(#.*)?)?$/
const item = /^-(\s|$)/
const usersKey = /^(["']?)users\1\s*:(\s|$)/

/** An anchor, an alias, or a merge key, where a value or a key may begin (YAML 1.2.2 section 6.9.2). */
const reference = /(?:^|[:,[{-])\s*(?:[&*][^\s,[\]{}]|<<\s*:)/

/**
 * Whether YAML must be read as one document, rather than row by row: it is a map with a list of users, or the file
 * of users as code has another map or an anchor, which may be in another row than its alias.
 */
export async function isOneDocument(input: Input, kind: RowKind): Promise<boolean> {
  const lines = new TextLines(input.name)
  let isList: boolean | undefined
  const decides = (text: string): boolean => {
    if (isList === undefined && blank.test(text)) return false
    isList ??= item.test(text)
    if (kind === 'managed users') return !isList || reference.test(text)
    return !isList && usersKey.test(text)
  }
  for await (const text of decodeChunks(input)) {
    if (lines.take(text, false).some((line) => decides(line.text))) return true
    if (isList && kind !== 'managed users') return false
  }
  return lines.take('', true).some((line) => decides(line.text))
}
