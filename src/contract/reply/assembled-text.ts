import type { Frame } from './frame.ts'

/** The text of a reply, or its reasoning, from parts. */
export class AssembledText {
  text = ''
  /** Whether certain parts have arrived, so that another field can only repeat them. */
  #isCertain = false

  /** @param isLast whether the frame ends the reply, and may repeat all of its text @returns the new text */
  add(part: string, source: Frame['source'], isLast: boolean): string {
    const mayRepeat = source !== 'delta' && (isLast || this.#isCertain) && this.text !== ''
    const added = mayRepeat && part.startsWith(this.text) ? part.slice(this.text.length) : part
    this.#isCertain ||= source === 'delta'
    this.text += added
    return added
  }
}
