/**
 * The words of a command line that is run without a shell: separated by spaces, with single quotes, double quotes,
 * and a backslash outside of single quotes as in a POSIX shell (IEEE Std 1003.1, "Quoting"). Nothing is expanded.
 *
 * @returns undefined if a quote is not closed, or the line ends with a backslash
 */
export function splitCommand(line: string): string[] | undefined {
  const words: string[] = []
  let word: string | undefined
  let quote: string | undefined
  for (let at = 0; at < line.length; at++) {
    const character = line.charAt(at)
    const next = line[at + 1]
    if (character === '\\' && quote !== "'") {
      if (next === undefined) return undefined
      // Within double quotes, a backslash before any other character is a backslash.
      const isEscape = quote === undefined || '"\\$`'.includes(next)
      word = (word ?? '') + (isEscape ? next : character + next)
      at++
    } else if (character === quote) quote = undefined
    else if (quote === undefined && (character === '"' || character === "'")) {
      quote = character
      word ??= ''
    } else if (quote === undefined && /\s/.test(character)) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else word = (word ?? '') + character
  }
  if (quote !== undefined) return undefined
  return word === undefined ? words : [...words, word]
}
