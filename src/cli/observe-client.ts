import type { ClientEvent } from '../client/client-event.ts'
import { roundDuration } from '../config/duration.ts'
import type { Output } from './output/output.ts'

/** Says what the client does while it does it: waits always, everything under `--debug`. */
export function observeClient(output: Output, debug: boolean): (event: ClientEvent) => void {
  return (event) => {
    if (debug) return output.streams.say(describeClientEvent(event))
    if (event.type === 'wait') output.progress(`Rate limited; trying again in ${roundDuration(event.after)}…`)
    if (event.type === 'retry')
      output.progress(`${event.reason}; trying again in ${roundDuration(event.after)}…`)
  }
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
      return `< ${event.status}, on to ${event.to}`
    case 'retry':
      return `! ${event.reason}; again in ${roundDuration(event.after)}`
    case 'wait':
      return `! ${event.status}, rate limited; again in ${roundDuration(event.after)}`
  }
}
