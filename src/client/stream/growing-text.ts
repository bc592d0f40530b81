/** Minimum length of a text that is not repeated by chance at the beginning of the next one. */
const tellingLength = 8

/**
 * Assembles a reply from pieces that may each be the next part, or the whole text so far: services use
 * fields such as `response` both ways. Each call returns the new text.
 *
 * Two short pieces can be either ("ha", "haha"), so the second is held back until the third decides.
 */
export class GrowingText {
  /** The text returned so far. */
  text = ''
  /** Whether a piece contradicted the text so far, so that the text is unreliable. */
  contradicted = false
  #mode: 'open' | 'parts' | 'grown' = 'open'
  /** In `open`: the pieces so far, of which the first has been returned. */
  #pieces: string[] = []
  #growths = 0
  /** Whether certain parts have arrived, so that another field can only repeat them. */
  #certain = false

  /** Adds a piece that is certainly the next part. */
  add(part: string): string {
    this.#certain = true
    const held = this.#settle('parts')
    return this.#append(held + part)
  }

  /**
   * Adds a piece that is the next part, or the whole text so far.
   *
   * @param last whether its frame ends the reply, and may repeat all of it
   */
  offer(piece: string, last: boolean): string {
    if (piece === '') return ''
    if (this.#mode === 'grown') return this.#grow(piece)
    if (this.#mode === 'parts') {
      const mayRepeat = last || this.#certain
      return mayRepeat && this.text !== '' && piece.startsWith(this.text)
        ? this.#append(piece.slice(this.text.length))
        : this.#append(piece)
    }
    const previous = this.#pieces.at(-1)
    this.#pieces.push(piece)
    if (previous === undefined) return this.#append(piece)
    if (!piece.startsWith(previous)) return this.#append(this.#settle('parts'))
    const grew = piece.length > previous.length
    if (grew) this.#growths++
    if (this.#growths >= 2 || (grew && previous.length >= tellingLength))
      return this.#append(this.#settle('grown'))
    return last ? this.finish(true) : ''
  }

  /**
   * Returns the text that was held back.
   *
   * @param repeated whether the last piece ended the reply, so that an equal one is a repetition
   */
  finish(repeated: boolean): string {
    return this.#append(this.#settle(this.#growths > 0 || repeated ? 'grown' : 'parts'))
  }

  #settle(mode: 'parts' | 'grown'): string {
    if (this.#mode !== 'open') return ''
    this.#mode = mode
    const [first = '', ...rest] = this.#pieces
    return mode === 'parts' ? rest.join('') : (rest.at(-1) ?? first).slice(first.length)
  }

  #grow(piece: string): string {
    if (piece.startsWith(this.text)) return this.#append(piece.slice(this.text.length))
    if (!this.text.startsWith(piece)) this.contradicted = true
    return ''
  }

  #append(text: string): string {
    this.text += text
    return text
  }
}
