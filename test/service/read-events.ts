import { createParser } from 'eventsource-parser'

export interface ServerSentEvent {
  event: string | undefined
  // biome-ignore lint/suspicious/noExplicitAny: tests look into events of every shape
  data: any
}

/** Yields the events of a streamed reply as they arrive. */
export async function* readEvents(response: Response): AsyncGenerator<ServerSentEvent> {
  const arrived: ServerSentEvent[] = []
  const parser = createParser({
    onEvent: ({ event, data }) => arrived.push({ event, data: data === '[DONE]' ? data : JSON.parse(data) }),
  })
  const decoder = new TextDecoder()
  if (!response.body) return
  for await (const bytes of response.body) {
    parser.feed(decoder.decode(bytes, { stream: true }))
    yield* arrived.splice(0)
  }
}

export async function allEvents(response: Response): Promise<ServerSentEvent[]> {
  const events: ServerSentEvent[] = []
  for await (const event of readEvents(response)) events.push(event)
  return events
}
