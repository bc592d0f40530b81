import type { TracedBody, TraceEvent } from '../../client/trace.ts'
import { roundDuration } from '../../config/units.ts'
import { showControls } from '../../terminal/strip-controls.ts'
import { describeBytes } from '../../view/format/quantities.ts'

/** As `--debug` shows it. Lines of a request begin with `>`, those of a response with `<`. */
export function describeTrace(event: TraceEvent): string {
  switch (event.type) {
    case 'request': {
      const again = event.attempt > 1 ? ` (attempt ${event.attempt})` : ''
      const first = `${event.method} ${event.url}${again}`
      return prefixed('>', [first, ...headerLines(event.headers), ...bodyLines(event.body)])
    }
    case 'response': {
      const first = `${`${event.status} ${event.statusText}`.trim()} in ${Math.round(event.elapsed)}ms`
      return prefixed('<', [
        first,
        ...headerLines(event.headers),
        ...(event.body ? bodyLines(event.body) : []),
      ])
    }
    case 'stream': {
      const parts = event.chunks === 1 ? '1 part' : `${event.chunks} parts`
      const first = `[stream ${event.end} after ${describeBytes(event.body.length)} in ${parts}]`
      return prefixed('<', [first, ...bodyLines(event.body)])
    }
    case 'retry':
      return `! ${showControls(event.reason)}, retrying in ${roundDuration(event.after)}`
  }
}

function prefixed(sign: string, lines: readonly string[]): string {
  return lines.map((line) => `${sign} ${showControls(line)}`.trimEnd()).join('\n')
}

function headerLines(headers: Record<string, string>): string[] {
  return Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
}

function bodyLines({ text, length, omitted }: TracedBody): string[] {
  if (length === 0) return []
  if (text === undefined) return ['', `[body is not text: ${describeBytes(length)}]`]
  const rest = omitted > 0 ? [`[${omitted === 1 ? '1 byte' : `${omitted} bytes`} omitted]`] : []
  return ['', ...text.replace(/\r?\n$/, '').split('\n'), ...rest]
}
