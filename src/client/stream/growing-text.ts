/** From this length on, a text that begins with the one before is no chance. */
const tellingLength = 8

/**
 * Puts a reply together from pieces that may each be the next part or all so far: fields such
 * as `response` are used both ways. Each call returns what is new.
 *
 * Two short pieces can look like either ("ha", "haha"), so that the second is held back until the
 * third tells.
 */
export class GrowingText {
  /** All that has been given out. */
  text = ''
  /** Whether a piece took back what had been given out: the text cannot be trusted. */
  contradicted = false
  #mode: 'open' | 'parts' | 'grown' = 'open'
  /** In `open`: the pieces so far, the first of which has been given out. */
  #pieces: string[] = []
  #growths = 0
  /** Whether parts came that were certain, so that another field can only repeat them. */
  #certain = false

  /** The next part, for certain. */
  add(part: string): string {
    this.#certain = true
    const held = this.#settle('parts')
    return this.#give(held + part)
  }

  /**
   * The next part or all so far.
   * @param last whether its frame ends the reply, and may repeat all of it
   */
  offer(piece: string, last: boolean): string {
    if (piece === '') return ''
    if (this.#mode === 'grown') return this.#grow(piece)
    if (this.#mode === 'parts') {
      const mayRepeat = last || this.#certain
      return mayRepeat && this.text !== '' && piece.startsWith(this.text)
        ? this.#give(piece.slice(this.text.length))
        : this.#give(piece)
    }
    const previous = this.#pieces.at(-1)
    this.#pieces.push(piece)
    if (previous === undefined) return this.#give(piece)
    if (!piece.startsWith(previous)) return this.#give(this.#settle('parts'))
    const grew = piece.length > previous.length
    if (grew) this.#growths++
    if (this.#growths >= 2 || (grew && previous.length >= tellingLength))
      return this.#give(this.#settle('grown'))
    return last ? this.finish(true) : ''
  }

  /**
   * What was still held back.
   * @param repeated whether the last piece came with the end, so that an equal one is a repetition
   */
  finish(repeated: boolean): string {
    return this.#give(this.#settle(this.#growths > 0 || repeated ? 'grown' : 'parts'))
  }

  #settle(mode: 'parts' | 'grown'): string {
    if (this.#mode !== 'open') return ''
    this.#mode = mode
    const [first = '', ...rest] = this.#pieces
    return mode === 'parts' ? rest.join('') : (rest.at(-1) ?? first).slice(first.length)
  }

  #grow(piece: string): string {
    if (piece.startsWith(this.text)) return this.#give(piece.slice(this.text.length))
    if (!this.text.startsWith(piece)) this.contradicted = true
    return ''
  }

  #give(text: string): string {
    this.text += text
    return text
  }
}
