/** One unit of a stream, as the format delimits it. */
export type StreamUnit =
  /** `event` is the name of a server-sent event. */
  | { type: 'json'; value: unknown; event?: string }
  | { type: 'text'; text: string; event?: string }
  /** The marker `[DONE]`. */
  | { type: 'done' }
  /** A truncated or unreadable unit. */
  | { type: 'unreadable' }

/** Decodes text into units, however the text is split. */
export interface Decoder {
  push(text: string): StreamUnit[]
  /** Returns the units of an unterminated end. */
  end(): StreamUnit[]
}
