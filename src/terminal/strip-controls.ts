import { escapeUnits } from '../contract/notation/text.ts'

/**
 * Removes the characters with which a text could steer a terminal: C0 except tab and newline, DEL, C1,
 * and the Unicode bidirectional controls, which change the reading order.
 */
export function stripControls(text: string): string {
  return text.replace(controls, '')
}

/** A text that contains no command of a CI log, such as `::set-output` of GitHub and `##vso[` of Azure. */
export function withoutLogCommands(text: string): string {
  return text.replace(/^([^\S\n\r\u2028\u2029]*):(?=:)/gm, '$1: ').replace(/##(?=\w*\[)/g, '# #')
}

/** The beginning of a text, on one line, without control characters. */
export function oneLine(text: string, length = 60): string {
  // Avoid processing all of a long text.
  const line = stripControls(text.slice(0, 10 * length).replaceAll(/\s+/g, ' ')).trim()
  const characters = Array.from(line)
  const isWhole = characters.length <= length && text.length <= 10 * length
  return isWhole ? line : `${characters.slice(0, length - 1).join('')}…`
}

/** JSON of a value on one line, with control characters escaped, so that a reader sees them. */
export function visibleJson(value: unknown): string {
  return showControls(JSON.stringify(value))
}

/** A text on one line, with control characters and line breaks as JSON escapes. */
export function showControls(text: string): string {
  return escapeUnits(escapeUnits(text, controls), lineBreaks)
}

/**
 * Strips a text that arrives in parts. Removes whole escape sequences (ECMA-48), also if they are split
 * between parts: of ESC [ 31 m nothing remains. Of a malformed sequence, only the control characters
 * are removed. A control string, for example a title (OSC), counts as one only if BEL or ST ends it on
 * the same line and within 4,096 characters, so that an unterminated one hides no text.
 */
export class ControlStripper {
  /** An unfinished sequence, or the first half of a surrogate pair. */
  #held = ''

  push(text: string): string {
    const all = this.#held + text
    const [held = ''] = unfinished.exec(all) ?? []
    this.#held = held
    return strip(all.slice(0, all.length - held.length))
  }

  /** The text that was held back. An unfinished sequence has none, but an unfinished string has. */
  end(): string {
    const rest = this.#held.replace(unfinishedSequence, '')
    this.#held = ''
    return strip(rest)
  }
}

/** A lone surrogate is displayed as U+FFFD, but measured with width 0. */
function strip(text: string): string {
  return stripControls(text.replace(sequences, '')).toWellFormed()
}

// biome-ignore-start lint/suspicious/noControlCharactersInRegex: they are what is looked for
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** A control string with its end, a sequence that CSI begins, or another one, as far as they are well-formed. */
const sequences =
  /(?:\u001b[P\]X^_]|[\u0090\u0098\u009d-\u009f])[^\n\u0007\u001b\u0080-\u009f]{0,4096}(?:\u0007|\u009c|\u001b\\)|(?:\u001b\[|\u009b)[ -?]*[@-~]|\u001b(?![P\]X^_[])[ -/]*[0-~]/g

/** What may be the beginning of one at the end of a text, or of a character. */
const unfinished =
  /(?:(?:\u001b[P\]X^_]|[\u0090\u0098\u009d-\u009f])[^\n\u0007\u001b\u0080-\u009f]{0,4096}\u001b?|(?:\u001b\[|\u009b)[ -?]{0,256}|\u001b[ -/]{0,256}|[\ud800-\udbff])$/

const unfinishedSequence = /^(?:(?:\u001b\[|\u009b)[ -?]*|\u001b[ -/]*)$/
// biome-ignore-end lint/suspicious/noControlCharactersInRegex: they are what was looked for

/** Tab, line breaks (YAML 1.1 section 4.2), and characters that YAML forbids (YAML 1.2.2 section 5.1). */
const lineBreaks = /[\t\n\u2028\u2029\ufffe\uffff]/g
