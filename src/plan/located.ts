/** A value of a document that knows where it stands; `at` is an offset into the text. */
export type Located = LocatedMap | LocatedList | LocatedScalar

export interface LocatedMap {
  kind: 'map'
  at: number
  entries: readonly { key: string; keyAt: number; value: Located }[]
}

export interface LocatedList {
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

/** Line and column of an offset, both from 1; columns are UTF-16 units, as editors count them. */
export function placeOf(text: string, at: number): { line: number; column: number } {
  const before = text.slice(0, at).split(/\r\n|\n|\r/)
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 }
}
