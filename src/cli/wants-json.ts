/**
 * Whether errors are to be JSON, judged from the bare words: for a command line that could not be
 * read, and so for the one failure that comes before its flags are known.
 */
export function wantsJson(argv: readonly string[], env: NodeJS.ProcessEnv): boolean {
  const end = argv.indexOf('--')
  const words = end === -1 ? argv : argv.slice(0, end)
  let form = env['CHATCTL_OUTPUT']
  words.forEach((word, index) => {
    if (word === '--json') form = 'json'
    else if (word === '-o' || word === '--output') form = words[index + 1]
    else if (word.startsWith('--output=')) form = word.slice('--output='.length)
    else if (/^-o./.test(word)) form = word.slice(2).replace(/^=/, '')
  })
  return form === 'json' || form === 'jsonl'
}
