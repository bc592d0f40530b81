import { cutToWidth } from '../editor/cut-to-width.ts'
import type { SessionInput } from '../input.ts'
import type { TextStyle } from '../markdown/text-style.ts'
import type { Footer } from './screen.ts'

interface Parts {
  status: string | undefined
  /** Typed ahead and submitted. */
  queued: readonly string[]
  /** Undefined where nothing can be typed just now. */
  input: SessionInput | undefined
  columns: number
  rows: number
  style: TextStyle
}

/** What stands below the text: what is waited for, what will be sent next, and where one types. */
export function composeFooter({ status, queued, input, columns, rows, style }: Parts): Footer | undefined {
  const above = [...(status === undefined ? [] : [status]), ...queued.map((text) => `next: ${text}`)]
    .slice(0, Math.max(0, rows - 1))
    .map((text) => style.dim(cutToWidth(text, columns).text))
  const view = input?.view(columns, Math.max(1, rows - above.length))
  if (view) {
    const { row, column } = view.cursor
    return { lines: [...above, ...view.lines], cursor: { row: row + above.length, column } }
  }
  return above.length === 0 ? undefined : { lines: above, cursor: { row: above.length - 1, column: 0 } }
}
