import { nearest } from '../../contract/nearest-word.ts'
import type { Catalog } from './command-catalog.ts'
import { findId, fits, suggestCommand } from './suggest-command.ts'
import { findGuess, guessWords, respell } from './synonyms.ts'

/**
 * What a line that names no command was probably meant to be.
 *
 * @param words the words before the first flag
 * @param flags the rest of the line
 * @returns a hint, undefined if nothing is near
 */
export function guessCommand(
  words: readonly string[],
  flags: readonly string[],
  catalog: Catalog,
): string | undefined {
  const corrected = correct(words, catalog)
  return (
    findLine({ words, typed: words, flags, catalog }) ??
    findElsewhere(words, catalog) ??
    findLine({ words: corrected, typed: words, flags, catalog })
  )
}

interface Line {
  /** Spelled as is known. */
  words: readonly string[]
  typed: readonly string[]
  flags: readonly string[]
  catalog: Catalog
}

/** The guess, or the command in another spelling or order, that has most of the words. */
function findLine(line: Line): string | undefined {
  const { words, typed, catalog } = line
  let best: { length: number; hint: () => string } | undefined
  for (const { words: spelling, shift, isSwapped } of respell(words)) {
    const least = Math.max(best?.length ?? 0, depthOf(typed, catalog), isSwapped ? 1 : 0)
    const guess = findGuess(spelling)
    const id = findId(spelling, catalog)
    if (guess && guess.length + shift > least) {
      best = {
        length: guess.length + shift,
        hint: () => fillGuess(guess.text, spelling.slice(guess.length), line),
      }
    } else if (id !== undefined && isOther(id, spelling, line) && id.split(':').length > least) {
      const named = id.split(':')
      const rest = [...spelling.slice(named.length), ...line.flags]
      best = {
        length: named.length,
        hint: () => `Did you mean: ${suggestCommand(named.join(' '), rest, catalog)}`,
      }
    }
  }
  return best?.hint() ?? findTopic(line)
}

/** Whether a command is not the one that was typed, and can have the words that follow. */
function isOther(id: string, spelling: readonly string[], { typed, catalog }: Line): boolean {
  const named = id.split(':')
  const shape = catalog.get(id)
  if (!shape || startsWith(typed, named)) return false
  return named.length > 1 || fits(shape, spelling.slice(1))
}

/** @param typed the words after the guess */
function fillGuess(text: string, typed: readonly string[], { flags, catalog }: Line): string {
  if (!text.includes('{')) return `Did you mean: ${suggestCommand(text, [...typed, ...flags], catalog)}`
  // The commands after the first are for another situation.
  let isFirst = true
  return text.replaceAll(/\{(.*?)\}/g, (_, line: string) => {
    const rest = isFirst ? [...typed, ...flags] : typed
    isFirst = false
    return line.startsWith('=')
      ? suggestCommand(line.slice(1), flags, catalog)
      : suggestCommand(line, rest, catalog)
  })
}

/** Finds `chatctl users` for `user`, and for a word with a typing error. */
function findTopic({ words, typed, catalog }: Line): string | undefined {
  for (const { words: spelling, isSwapped } of respell(words)) {
    const topic = spelling.slice(0, depthOf(spelling, catalog))
    if (isSwapped || topic.length === 0 || startsWith(typed, topic)) continue
    return `Did you mean: chatctl ${topic.join(' ')}`
  }
  return undefined
}

/** At most so many commands are offered. */
const maxOffered = 3

/** Commands of any topic that end with the first word: `login` is `auth login`. */
function findElsewhere([first = '']: readonly string[], catalog: Catalog): string | undefined {
  const found = pathsOf(catalog).filter((path) => path.length > 1 && path.at(-1) === first)
  if (found.length === 0 || found.length > maxOffered) return undefined
  return `Did you mean: ${found.map((path) => suggestCommand(path.join(' '), [], catalog)).join(', or ')}`
}

/** The words with those replaced that are no known word, as far as a known one is near. */
function correct(words: readonly string[], catalog: Catalog): string[] {
  const corrected: string[] = []
  for (const word of words) {
    if (catalog.has(corrected.join(':'))) {
      const children = childrenOf(corrected, catalog)
      if (children.length === 0) break
    }
    const children = childrenOf(corrected, catalog).filter((child) => !isOpposite(child, word))
    // One letter of two makes another word: `cp` is not `up`.
    const isKnown =
      word.length < 3 || children.includes(word) || guessWords.has(word) || !/^[a-z-]+$/i.test(word)
    const vocabulary = [...guessWords].filter((known) => !isOpposite(known, word))
    corrected.push(isKnown ? word : (nearest(word, children) ?? nearest(word, vocabulary) ?? word))
  }
  return [...corrected, ...words.slice(corrected.length)]
}

/** One or two letters from what was meant, and the reverse of it. */
function isOpposite(choice: string, word: string): boolean {
  const opposites: Record<string, RegExp> = {
    set: /^(get|unset|reset)$/,
    import: /^export$/,
    restore: /^restart$/,
    unset: /^(set|reset)$/,
    edit: /^exit$/,
  }
  return opposites[choice]?.test(word) ?? false
}

/** How many words from the first are a command or a topic. */
export function depthOf(words: readonly string[], catalog: Catalog): number {
  const paths = pathsOf(catalog)
  let depth = 0
  while (depth < words.length && paths.some((path) => startsWith(path, words.slice(0, depth + 1)))) depth++
  return depth
}

function childrenOf(words: readonly string[], catalog: Catalog): string[] {
  const below = pathsOf(catalog).filter((path) => startsWith(path, words))
  return [...new Set(below.flatMap((path) => path.slice(words.length, words.length + 1)))]
}

const pathsOf = (catalog: Catalog): string[][] => [...catalog.keys()].map((id) => id.split(':'))

function startsWith(path: readonly string[], start: readonly string[]): boolean {
  return start.every((word, index) => path[index] === word)
}
