/** What a line can be inside of: `> ` and list items, outermost first. */
export type Container = { kind: 'quote' } | Item

interface Item {
  kind: 'item'
  /** Spaces by which its further lines are indented in the source. */
  indent: number
  isOrdered: boolean
  /** As written: `-`, `3.`; or a box, which may be ticked. */
  marker: string
  isTask: boolean
}

/** Deeper ones are text. No answer needs more, and each line looks at all of them. */
export const deepestContainer = 32
