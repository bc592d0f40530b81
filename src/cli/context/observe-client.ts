import type { ClientEvent } from '../../client/client-event.ts'
import { roundDuration } from '../../config/units.ts'
import type { Output } from '../output/output.ts'

/** Shows waits and retries while they happen. */
export function observeClient(output: Output): (event: ClientEvent) => void {
  return (event) => {
    if (event.type === 'wait')
      output.progress(`Rate limit exceeded. Retrying in ${roundDuration(event.after)}…`)
    if (event.type === 'retry')
      output.progress(`${capitalized(event.reason)}. Retrying in ${roundDuration(event.after)}…`)
  }
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
