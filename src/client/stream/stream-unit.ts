/** One piece of a stream as its form delimits it, before anybody asks what it says. */
export type StreamUnit =
  /** `event` is the name that the form gave it, such as SSE's. */
  | { type: 'json'; value: unknown; event?: string }
  | { type: 'text'; text: string; event?: string }
  /** The marker `[DONE]`. */
  | { type: 'done' }
  /** A piece that was cut off or cannot be read. */
  | { type: 'broken' }

/** Text in, units out: pure, whatever the text is split into. */
export interface Decoder {
  push(text: string): StreamUnit[]
  /** What an unterminated last piece still holds. */
  end(): StreamUnit[]
}
