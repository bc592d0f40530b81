/**
 * A model may say anything, and whoever asked must hear what the history will hold: a text column
 * ends at U+0000 on Node 22 and cannot hold it in PostgreSQL, and UTF-8 has no lone surrogates.
 */
export const storableText = (text: string): string => text.toWellFormed().replaceAll('\0', '\ufffd')

/** The same for a text in pieces: a character may lie half in one and half in the next. */
export class StorableStream {
  /** The first half of a character. */
  #held = ''

  /** What can be said of the text so far. */
  take(piece: string): string {
    const text = this.#held + piece
    const end = endsInHighSurrogate(text) ? text.length - 1 : text.length
    this.#held = text.slice(end)
    return storableText(text.slice(0, end))
  }

  /** What is left when no piece follows. */
  end(): string {
    return storableText(this.#held)
  }
}

const endsInHighSurrogate = (text: string) => (text.charCodeAt(text.length - 1) & 0xfc00) === 0xd800
