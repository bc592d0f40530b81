/**
 * Tracks the open constructs of inline text: emphasis, code, links, and tags. Text can be split and
 * rendered in parts only where none is open. Follows the rules of CommonMark 6.2 for delimiter runs,
 * except the rule of three: a wrong guess shows a delimiter as text and does no other harm.
 */
export class OpenDelimiters {
  /** Length of the backtick run that ends the code; 0 outside code. */
  #code = 0
  #isInTag = false
  /** Depth of parentheses in the address of a link; 0 outside a link. */
  #target = 0
  /** For each open bracket, the number of delimiters that were open before it. */
  #brackets: number[] = []
  #delimiters: { mark: string; length: number }[] = []

  get areOpen(): boolean {
    const inText = this.#brackets.length + this.#delimiters.length
    return this.#code + this.#target + inText > 0 || this.#isInTag
  }

  forget(): void {
    this.#code = 0
    this.#isInTag = false
    this.#target = 0
    this.#brackets = []
    this.#delimiters = []
  }

  /** @param word the next word, with the white space around it */
  read(word: string): void {
    if (!this.areOpen && !/[`*_~[<]/.test(word)) return
    for (let at = 0; at < word.length; ) at = this.#step(word, at)
  }

  #step(word: string, at: number): number {
    const unit = word.charAt(at)
    if (this.#code > 0) {
      const from = word.indexOf('`', at)
      if (from < 0) return word.length
      const length = runLength(word, from)
      if (length === this.#code) this.#code = 0
      return from + length
    }
    if (this.#isInTag) {
      const end = word.indexOf('>', at)
      if (end >= 0) this.#isInTag = false
      return end < 0 ? word.length : end + 1
    }
    if (unit === '\\') return at + 2
    if (this.#target > 0) {
      if (unit === '(') this.#target++
      if (unit === ')') this.#target--
      return at + 1
    }
    switch (unit) {
      case '`':
        this.#code = runLength(word, at)
        return at + this.#code
      case '<':
        this.#isInTag = /[a-z/!?]/i.test(word.charAt(at + 1))
        return at + 1
      case '[':
        this.#brackets.push(this.#delimiters.length)
        return at + 1
      case ']':
        return this.#closeBracket(word, at)
      case '*':
      case '_':
      case '~': {
        const length = runLength(word, at)
        this.#readDelimiters(unit, length, word.charAt(at - 1), word.charAt(at + length))
        return at + length
      }
      default:
        return at + 1
    }
  }

  #closeBracket(word: string, at: number): number {
    const before = this.#brackets.pop()
    if (before === undefined || word.charAt(at + 1) !== '(') return at + 1
    this.#delimiters.length = Math.min(before, this.#delimiters.length)
    this.#target = 1
    return at + 2
  }

  #readDelimiters(mark: string, length: number, before: string, after: string): void {
    if (mark === '~' && length !== 2) return
    const left = !isSpace(after) && (!isPunctuation(after) || isSpace(before) || isPunctuation(before))
    const right = !isSpace(before) && (!isPunctuation(before) || isSpace(after) || isPunctuation(after))
    const canOpen = mark === '_' ? left && (!right || isPunctuation(before)) : left
    const canClose = mark === '_' ? right && (!left || isPunctuation(after)) : right
    let rest = length
    while (canClose && rest > 0) {
      const index = this.#delimiters.findLastIndex((open) => open.mark === mark)
      const opener = this.#delimiters[index]
      if (opener === undefined) break
      const used = Math.min(rest, opener.length)
      opener.length -= used
      rest -= used
      this.#delimiters.length = opener.length > 0 ? index + 1 : index
    }
    if (canOpen && rest > 0) this.#delimiters.push({ mark, length: rest })
  }
}

function runLength(word: string, from: number): number {
  let end = from + 1
  while (word.charAt(end) === word.charAt(from)) end++
  return end - from
}

/** The beginning and the end of a word count as white space. */
function isSpace(unit: string): boolean {
  return unit === '' || /\s/.test(unit)
}

function isPunctuation(unit: string): boolean {
  return /[\p{P}\p{S}]/u.test(unit)
}
