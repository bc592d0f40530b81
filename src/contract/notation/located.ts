/** A value of a document with its place. `at` is an offset in the text. */
export type Located = LocatedMap | LocatedList | LocatedScalar

export interface LocatedMap {
  kind: 'map'
  at: number
  /** End of its source. */
  end: number
  entries: readonly LocatedEntry[]
}

export interface LocatedEntry {
  key: string
  keyAt: number
  value: Located
}

interface LocatedList {
  kind: 'list'
  at: number
  end: number
  items: readonly Located[]
}

export interface LocatedScalar {
  kind: 'scalar'
  at: number
  value: unknown
  /** End of its source. */
  end: number
  /** For a missing value: the offset of the comment that replaces it. */
  comment?: number
}

/** What a value that exceeds a bound of its file is. */
export const boundMessages = {
  depth: 'nested too deeply',
  values: (most: number) => `the file has more than ${most} values`,
  tokens: (most: number) => `the file has more than ${most} values, marks, and lines`,
}

/** Line and column, both from 1. Columns count UTF-16 units, as editors do. */
export interface FilePosition {
  line: number
  column: number
}

/**
 * Converts offsets of a text to places. Reads the text only as far as the places need, and once for all of them.
 * @param first the line on which the text begins
 */
export function placesIn(text: string, first = 1): (at: number) => FilePosition {
  const starts = [0]
  let next = text.indexOf('\n')
  return (at) => {
    for (; next !== -1 && next < at; next = text.indexOf('\n', next + 1)) starts.push(next + 1)
    let [line, end] = [0, starts.length]
    while (end - line > 1) {
      const middle = (line + end) >> 1
      if ((starts[middle] ?? 0) <= at) line = middle
      else end = middle
    }
    return { line: line + first, column: at - (starts[line] ?? 0) + 1 }
  }
}

/** @param isExact whether numbers that are not doubles stay as they are */
export function plainValue(located: Located, isExact = false): unknown {
  if (located.kind === 'list') return located.items.map((item) => plainValue(item, isExact))
  // Object.fromEntries defines a property of any name, even `__proto__`.
  if (located.kind === 'map')
    return Object.fromEntries(located.entries.map(({ key, value }) => [key, plainValue(value, isExact)]))
  const { value } = located
  return !isExact && typeof value === 'object' && value !== null ? Number(value) : value
}
