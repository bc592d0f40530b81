/**
 * The text of a model as the history can store it, so that the response and the history are the same. On
 * Node 22, SQLite truncates text at U+0000; PostgreSQL refuses it; UTF-8 has no lone surrogates.
 */
export const storableText = (text: string): string => text.toWellFormed().replaceAll('\0', '\ufffd')

/** `storableText` for a text in parts, of which two may share a surrogate pair. */
export class StorableStream {
  /** The first half of a surrogate pair. */
  #held = ''

  /** Returns the text of a part, without a trailing half of a surrogate pair. */
  take(piece: string): string {
    const text = this.#held + piece
    const end = endsInHighSurrogate(text) ? text.length - 1 : text.length
    this.#held = text.slice(end)
    return storableText(text.slice(0, end))
  }

  /** Returns the rest if no part follows. */
  end(): string {
    return storableText(this.#held)
  }
}

const endsInHighSurrogate = (text: string) => (text.charCodeAt(text.length - 1) & 0xfc00) === 0xd800
