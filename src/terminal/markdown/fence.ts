import type { Highlight } from './highlight.ts'
import type { TextStyle } from './text-style.ts'

/** A block of fenced code that is being read (CommonMark, section 4.5). */
export class Fence {
  #mark: string
  #indent: number
  #paint: ((line: string) => string) | undefined

  /**
   * @param opening the line that opens it, without its indent
   * @param indent spaces before it, of which its lines lose as many
   */
  constructor(opening: string, indent: number, style: TextStyle, highlight: Highlight | undefined) {
    this.#mark = /^(?:`+|~+)/.exec(opening)?.[0] ?? ''
    this.#indent = indent
    const language = /^\s*([^\s,{:]+)/.exec(opening.slice(this.#mark.length, this.#mark.length + 100))?.[1]
    this.#paint = language === undefined ? undefined : highlight?.(language.toLowerCase(), style)
  }

  isClosedBy(line: string): boolean {
    const text = line.trim()
    return (
      text.length >= this.#mark.length &&
      text.startsWith(this.#mark) &&
      leadingSpaces(line) <= 3 &&
      text === this.#mark.charAt(0).repeat(text.length)
    )
  }

  /** The line as code, coloured. */
  read(line: string): string {
    const code = line.slice(Math.min(leadingSpaces(line), this.#indent))
    return this.#paint?.(code) ?? code
  }
}

/** Whether a line opens a fence, once it is whole: what follows backticks has none. */
export function opensFence(line: string): boolean {
  const info = line.replace(/^`+/, '')
  return info === line || !info.includes('`')
}

function leadingSpaces(line: string): number {
  let length = 0
  while (line.charAt(length) === ' ') length++
  return length
}
