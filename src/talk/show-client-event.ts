import type { ClientEvent } from '../client/client-event.ts'
import type { Session } from './session.ts'

/** Says what is waited for, while it is. */
export function showClientEvent(session: Session, event: ClientEvent): void {
  const { options, voice, status, isStill } = session
  if (options.describeEvent) voice.say(options.describeEvent(event))
  // What Tab asks for is nothing that one waits for.
  if (!session.isBusy) return
  if (event.type === 'wait') {
    const words = (seconds: number): string => `Rate limited; trying again in ${seconds} s (Ctrl-C: not now)`
    if (isStill) voice.note(words(Math.ceil(event.after / 1000)))
    else status.until(Date.now() + event.after, words)
  } else if (event.type === 'retry') {
    if (isStill) voice.note(`${event.reason}; trying again`)
    else status.since(`${event.reason}; trying again…`)
  } else if (event.type === 'request') status.request()
}
