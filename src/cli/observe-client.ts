import type { ClientEvent } from '../client/client-event.ts'
import { roundDuration } from '../config/duration.ts'
import type { Output } from './output/output.ts'

/** Shows waits and retries while they happen; with `--debug`, every event. */
export function observeClient(output: Output, debug: boolean): (event: ClientEvent) => void {
  return (event) => {
    if (debug) return output.streams.say(describeClientEvent(event))
    if (event.type === 'wait')
      output.progress(`Rate limit exceeded. Retrying in ${roundDuration(event.after)}…`)
    if (event.type === 'retry')
      output.progress(`${capitalized(event.reason)}. Retrying in ${roundDuration(event.after)}…`)
  }
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** As `--debug` shows it. */
export function describeClientEvent(event: ClientEvent): string {
  const about = `${event.method} ${event.url}`
  switch (event.type) {
    case 'request':
      return `> ${about} (attempt ${event.attempt})`
    case 'sent':
      return `> ${about} sent`
    case 'response':
      return `< ${event.status} ${event.statusText} in ${Math.round(event.elapsed)}ms${event.requestId ? `, id ${event.requestId}` : ''}`
    case 'redirect':
      return `< ${event.status}, redirected to ${event.to}`
    case 'retry':
      return `! ${event.reason}, retrying in ${roundDuration(event.after)}`
    case 'wait':
      return `! ${event.status}, rate limit exceeded, retrying in ${roundDuration(event.after)}`
  }
}
