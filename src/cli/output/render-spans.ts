import { stripControls } from '../../terminal/strip-controls.ts'
import type { Span } from '../../view/view.ts'
import type { Colours } from './colours.ts'

/** Lines for a person: what they quote is stripped, so that our colours alone can steer a terminal. */
export function renderSpans(spans: readonly Span[], colours: Colours): string {
  const all = spans
    .map(({ text, style }) =>
      style === undefined ? stripControls(text) : colours[style](stripControls(text)),
    )
    .join('')
  return all.endsWith('\n') ? all : `${all}\n`
}
