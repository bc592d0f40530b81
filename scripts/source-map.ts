/** The part of a source map that this file changes (https://tc39.es/ecma426/). */
export interface SourceMap {
  mappings: string
}

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/**
 * Replaces text in generated code, and moves the columns of its source map accordingly.
 *
 * @param pattern has no groups, and matches no line break
 */
export function replaceMapped<Map extends SourceMap>(
  code: string,
  map: Map,
  pattern: RegExp,
  replacement: (found: string) => string,
): { code: string; map: Map } {
  const maps = map.mappings.split(';')
  const lines = code.split('\n').map((line, index) => {
    const edits: Edit[] = []
    const replaced = line.replaceAll(pattern, (found, start: number) => {
      const text = replacement(found)
      edits.push({ start, end: start + found.length, added: text.length })
      return text
    })
    if (edits.length > 0 && maps[index]) maps[index] = moveColumns(maps[index], edits)
    return replaced
  })
  return { code: lines.join('\n'), map: { ...map, mappings: maps.join(';') } }
}

interface Edit {
  start: number
  end: number
  added: number
}

/** A segment begins with its column, relative to that of the segment before it. Its other fields do not change. */
function moveColumns(line: string, edits: readonly Edit[]): string {
  let column = 0
  let former = 0
  let next = 0
  let shift = 0
  const moved = line.split(',').map((segment) => {
    const { value, length } = decode(segment)
    column += value
    for (; next < edits.length && (edits[next] as Edit).end <= column; next++) {
      const { start, end, added } = edits[next] as Edit
      shift += added - (end - start)
    }
    const inside = edits[next]
    const most = inside && inside.start < column ? inside.start + inside.added : column
    const there = shift + Math.min(column, most)
    const text = encode(there - former) + segment.slice(length)
    former = there
    return text
  })
  return moved.join(',')
}

/** The first variable-length quantity of a segment: five bits in each digit, the lowest first, and then the sign. */
function decode(segment: string): { value: number; length: number } {
  let bits = 0
  for (let length = 1; ; length++) {
    const digit = digits.indexOf(segment.charAt(length - 1))
    bits |= (digit & 31) << (5 * (length - 1))
    if ((digit & 32) === 0) return { value: bits & 1 ? -(bits >> 1) : bits >> 1, length }
  }
}

function encode(value: number): string {
  let bits = value < 0 ? (-value << 1) | 1 : value << 1
  let text = ''
  do {
    text += digits.charAt((bits & 31) | (bits > 31 ? 32 : 0))
    bits >>= 5
  } while (bits > 0)
  return text
}
