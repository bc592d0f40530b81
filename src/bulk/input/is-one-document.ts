import { decodeChunks } from './decode-chunks.ts'
import type { Input } from './input.ts'
import { TextLines } from './text-lines.ts'

const blank = /^\s*(#.*|%.*|---\s*(#.*)?)?$/
const item = /^-(\s|$)/

/** An anchor, an alias, or a merge key, where a value or a key may begin (YAML 1.2.2 section 6.9.2). */
const reference = /(?:^|[:,[{-])\s*(?:[&*][^\s,[\]{}]|<<\s*:)/

/**
 * Whether YAML must be read as one document, rather than row by row: it is a map, or an anchor may be in another
 * row than its alias.
 */
export async function isOneDocument(input: Input): Promise<boolean> {
  const lines = new TextLines(input.name)
  let isList = false
  const holds = (text: string, isLast: boolean): boolean =>
    lines.take(text, isLast).some(({ text: line }) => {
      if (!isList && !blank.test(line)) {
        if (!item.test(line)) return true
        isList = true
      }
      return reference.test(line)
    })
  for await (const text of decodeChunks(input)) if (holds(text, false)) return true
  return holds('', true)
}
