/** A value of a document with its place. `at` is an offset in the text. */
export type Located = LocatedMap | LocatedList | LocatedScalar

export interface LocatedMap {
  kind: 'map'
  at: number
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
