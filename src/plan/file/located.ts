/** A value of a document that knows where it stands; `at` is an offset into the text. */
export type Located = LocatedMap | LocatedList | LocatedScalar

export interface LocatedMap {
  kind: 'map'
  at: number
  entries: readonly { key: string; keyAt: number; value: Located }[]
}

interface LocatedList {
  kind: 'list'
  at: number
  items: readonly Located[]
}

export interface LocatedScalar {
  kind: 'scalar'
  at: number
  value: unknown
  /** Where its source ends. */
  end: number
  /** Of a value that is not there: where a comment stands in its place. */
  comment?: number
}

/** What makes a text no document at all. */
export class Unreadable extends Error {
  readonly faults: readonly { at: number; words: string }[]

  constructor(faults: readonly { at: number; words: string }[]) {
    super(faults[0]?.words)
    this.faults = faults
  }
}

/** Levels of nesting; nothing that is known needs more than four. */
export const deepest = 50

/** Values of one file, those that aliases make included: more is an attack, or an accident. */
export const mostValues = 10_000

/** Line and column, both from 1; columns are UTF-16 units, as editors count them. */
export interface Place {
  line: number
  column: number
}

/** Finds the place of an offset of a text. */
export function placesIn(text: string): (at: number) => Place {
  const starts = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)]
  return (at) => {
    const line = starts.findLastIndex((start) => start <= at)
    return { line: line + 1, column: at - (starts[line] ?? 0) + 1 }
  }
}
