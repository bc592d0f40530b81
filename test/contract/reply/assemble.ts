import { Assembly } from '../../../src/contract/reply/assembly.ts'
import type { StreamEnd, StreamEvent } from '../../../src/contract/resources/stream-event.ts'

export const request = { method: 'POST', url: 'https://x.example/api/chat/send' }

/** The events of a body that arrives in chunks, and is interrupted for a reason. */
export function run(contentType: string, chunks: Uint8Array[], cut?: string): StreamEvent[] {
  const assembly = new Assembly({ contentType, status: 200, request })
  const events: StreamEvent[] = []
  for (const chunk of chunks) {
    if (assembly.ended === 'now') break
    events.push(...assembly.push(chunk))
  }
  events.push(...assembly.end(cut === undefined ? undefined : { reason: cut }))
  return events
}

export function endOf(events: StreamEvent[]): StreamEnd {
  const end = events.at(-1)
  if (end?.type !== 'end') throw new Error('the last event is not the end')
  return end
}
