/**
 * The command that a line surely runs: the longest one that its first words name. Undefined where
 * oclif has to look at all commands: for help, for what is no command, for any unusual spelling.
 *
 * @param ids every command, `settings:api:set`
 */
export function findCommand(words: readonly string[], ids: readonly string[]): string | undefined {
  const end = words.indexOf('--')
  const said = end === -1 ? words : words.slice(0, end)
  if (said.some((word) => word === '--help' || word === '-h')) return undefined
  const flag = said.findIndex((word) => word.startsWith('-') || word.includes('='))
  const names = flag === -1 ? said : said.slice(0, flag)
  if (names.includes('')) return undefined
  const known = new Set(ids)
  for (let length = names.length; length > 0; length--) {
    const id = names.slice(0, length).join(':')
    if (known.has(id)) return names.slice(0, length).every(isPlain) ? id : undefined
  }
  return undefined
}

/** oclif takes `settings:get` for two words. */
const isPlain = (word: string): boolean => !word.includes(':')
