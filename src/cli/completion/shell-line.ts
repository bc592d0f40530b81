/** A command line as bash reads it, as far as the cursor. */
export interface ShellLine {
  /** Without their quotes; the one at the cursor last, empty behind a space. */
  words: readonly string[]
  /** The quote in which the cursor stands. */
  quote: '"' | "'" | undefined
  /** How many characters of the last word bash does not replace: it counts from where it breaks words. */
  kept: number
}

/** Inside double quotes a backslash stands for itself before any other (POSIX, 2.2.3). */
const escapable = '$`"\\\n'

/**
 * @param breaks COMP_WORDBREAKS: bash goes on behind the last of these
 */
export function readShellLine(line: string, breaks: string): ShellLine {
  const words: string[] = []
  let word = ''
  let isOpen = false
  let quote: ShellLine['quote']
  let kept = 0
  for (let at = 0; at < line.length; at++) {
    const character = line[at] ?? ''
    if (quote === undefined && /\s/.test(character)) {
      if (isOpen) words.push(word)
      word = ''
      isOpen = false
      kept = 0
      continue
    }
    isOpen = true
    const next = line[at + 1]
    if (quote !== undefined && character === quote) quote = undefined
    else if (quote === undefined && (character === '"' || character === "'")) {
      quote = character
      kept = word.length
    } else if (
      character === '\\' &&
      quote !== "'" &&
      (quote === undefined || escapable.includes(next ?? ''))
    ) {
      word += next ?? ''
      at++
    } else {
      word += character
      if (quote === undefined && breaks.includes(character)) kept = word.length
    }
  }
  return { words: [...words, word], quote, kept }
}
