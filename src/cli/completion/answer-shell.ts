import type { LiveValues } from './live-values.ts'
import { renderForBash, renderForFish, renderForPowershell, renderForZsh } from './render-suggestions.ts'
import { readShellLine } from './shell-line.ts'
import { type Program, suggest } from './suggest.ts'

/**
 * Answers what a completion script asks: `--shell=NAME -- WORD…`, the unfinished word last. bash asks
 * by `-- LINE BREAKS`, for it splits words where nobody else does, and `--next` stands for an empty
 * last word, which some shells cannot hand on. Without a shell the answer is a value a line.
 *
 * @returns what is to be printed
 */
export async function answerShell(
  argv: readonly string[],
  program: Program,
  live: LiveValues,
): Promise<string> {
  const end = argv.indexOf('--')
  const options = argv.slice(0, Math.max(end, 0))
  const given = argv.slice(end + 1)
  const words = options.includes('--next') ? [...given, ''] : given
  const shell = options.find((option) => option.startsWith('--shell='))?.slice('--shell='.length)
  switch (shell) {
    case 'bash': {
      const [text = '', breaks = ''] = given
      const line = readShellLine(text, breaks)
      return renderForBash(await suggest(line.words.slice(1), program, live), line)
    }
    case 'zsh':
      return renderForZsh(await suggest(words, program, live))
    case 'fish':
      return renderForFish(await suggest(words, program, live))
    case 'powershell':
      return renderForPowershell(await suggest(words, program, live))
    default: {
      const { candidates } = await suggest(words, program, live)
      return candidates.map(({ value }) => `${value}\n`).join('')
    }
  }
}
