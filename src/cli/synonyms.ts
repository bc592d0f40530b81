import { quoteWord } from './command-line.ts'

/**
 * What other tools call it: first words of a line that name no command of ours, and the line that
 * was meant. A word in capitals stands for the next one that was typed.
 */
const synonyms: Readonly<Record<string, string>> = {
  version: '--version',
  whoami: 'auth status',
  'auth whoami': 'auth status',
  'auth switch': 'auth use PROFILE',
  sessions: 'chat sessions',
  resume: 'chat --resume SESSION',
  continue: 'chat --continue',
  'chat list': 'chat sessions',
  'chat new': 'chat',
  'chat continue': 'chat --continue',
  'chat resume': 'chat --resume SESSION',
  ask: 'chat send MESSAGE',
  plan: 'settings diff FILE --save PLAN',
  'settings plan': 'settings diff FILE --save PLAN',
  apply: 'settings apply FILE',
  serve: 'service run',
  'service start': 'service run',
  'users add': 'users create',
  'users show': 'users get ID',
  keys: 'service keys list',
  status: 'doctor',
  completion: 'autocomplete SHELL',
  completions: 'autocomplete SHELL',
}

/**
 * @param words the first words that were typed
 * @returns what was probably meant, `chatctl auth status`
 */
export function findSynonym(words: readonly string[]): string | undefined {
  for (let length = words.length; length > 0; length--) {
    const typed = words.slice(0, length).join(' ')
    if (!Object.hasOwn(synonyms, typed)) continue
    const rest = words.slice(length)
    const line = synonyms[typed]?.replaceAll(/\b[A-Z]+\b/g, (place) => {
      const next = rest.shift()
      return next === undefined ? place : quoteWord(next)
    })
    return `chatctl ${line}`
  }
  return undefined
}

/**
 * The same for the one word that is wrong, wherever it stands: what shows something is `list`, `get`
 * or `status`, as there is.
 */
export function findWordSynonym(wrong: string, choices: ReadonlySet<string>): string | undefined {
  const words = /^(show|view|list|ls)$/.test(wrong) ? ['list', 'get', 'status'] : []
  return words.find((word) => choices.has(word))
}

/** Flags as other tools spell them, and ours; a command that has none of the name is not told of it. */
const flagSynonyms: Readonly<Record<string, string>> = {
  format: 'output',
  verbose: 'debug',
  trace: 'debug',
  host: 'base-url',
  url: 'base-url',
  endpoint: 'base-url',
  'auto-approve': 'yes',
  force: 'yes',
  silent: 'quiet',
  last: 'continue',
  'non-interactive': 'no-input',
  'no-colour': 'no-color',
}

/**
 * @param flag as typed, without its dashes
 * @param known the flags of the command
 */
export function findFlagSynonym(flag: string, known: readonly string[]): string | undefined {
  const ours = Object.hasOwn(flagSynonyms, flag) ? flagSynonyms[flag] : undefined
  return ours !== undefined && known.includes(ours) ? ours : undefined
}
