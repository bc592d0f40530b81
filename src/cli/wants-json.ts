import { readConfiguration } from '../config/configuration-file.ts'
import { resolveOptions } from '../config/resolve-options.ts'
import { Directories } from '../system/directories.ts'

/**
 * Whether errors are to be JSON, judged from the bare words: for a command line that could not be
 * read, and so for the one failure that comes before its flags are known.
 */
export function wantsJson(argv: readonly string[], env: NodeJS.ProcessEnv): boolean {
  const end = argv.indexOf('--')
  const words = end === -1 ? argv : argv.slice(0, end)
  const form = flagValue(words, 'output', 'o') ?? (words.includes('--json') ? 'json' : undefined)
  if (form !== undefined) return isJson(form)
  if (env['CHATCTL_JQ'] || words.some((word) => word === '--jq' || /^--jq=./s.test(word))) return true
  return isJson(standardForm(flagValue(words, 'profile', 'p'), env))
}

/** `--name value`, `--name=value`, `-nvalue`, `-n=value`, or `-qn value` behind flags without one. */
function flagValue(words: readonly string[], name: string, char: string): string | undefined {
  const attached = new RegExp(`^(?:--${name}=|-q?${char}=?)(.+)$`, 's')
  const alone = new RegExp(`^(?:--${name}|-q?${char})$`)
  for (const [index, word] of words.entries()) {
    if (alone.test(word)) return words[index + 1]
    const value = attached.exec(word)?.[1]
    if (value !== undefined) return value
  }
  return undefined
}

/** What the environment or the profile says; one that cannot be read says nothing. */
function standardForm(profile: string | undefined, env: NodeJS.ProcessEnv): string | undefined {
  try {
    const flags = profile === undefined ? {} : { profile }
    return resolveOptions(flags, env, () => readConfiguration(new Directories(env)), {
      mayNameNewProfile: true,
      takesProfileOfAddress: false,
    }).output.value
  } catch {
    return env['CHATCTL_OUTPUT']
  }
}

function isJson(form: string | undefined): boolean {
  return form === 'json' || form === 'jsonl'
}
