import { readConfiguration } from '../../config/configuration-file.ts'
import { resolveOptions } from '../../config/resolve-options.ts'
import { Directories } from '../../system/files/directories.ts'
import { type Host, resolvePath } from '../host.ts'

/** Whether errors are JSON, judged from the words of a command line that oclif could not read. */
export function wantsJson(argv: readonly string[], host: Pick<Host, 'env' | 'cwd'>): boolean {
  const { env } = host
  const end = argv.indexOf('--')
  const words = end === -1 ? argv : argv.slice(0, end)
  const format = flagValue(words, 'output', 'o') ?? (words.includes('--json') ? 'json' : undefined)
  if (format !== undefined) return isJson(format)
  if (env['CHATCTL_JQ'] || words.some((word) => word === '--jq' || /^--jq=./s.test(word))) return true
  return isJson(defaultFormat(flagValue(words, 'profile', 'p'), host))
}

/** The value in `--name value`, `--name=value`, `-n value`, `-nvalue`, `-n=value`, or the same after `-q`. */
function flagValue(words: readonly string[], name: string, char: string): string | undefined {
  const attached = new RegExp(`^(?:--${name}=|-q?${char}=?)(.+)$`, 's')
  const alone = new RegExp(`^(?:--${name}|-q?${char})$`)
  for (const [index, word] of words.entries()) {
    if (alone.test(word)) return words[index + 1]
    // In other tools, -out is one flag.
    if (/^-[a-z]{2,}=/.test(word) && !word.startsWith(`-q${char}=`)) continue
    const value = attached.exec(word)?.[1]
    if (value !== undefined) return value
  }
  return undefined
}

/** The output format of the environment or the profile. */
function defaultFormat(profile: string | undefined, host: Pick<Host, 'env' | 'cwd'>): string | undefined {
  const { env } = host
  try {
    const flags = profile === undefined ? {} : { profile }
    return resolveOptions(flags, env, () => readConfiguration(new Directories(env)), {
      mayNameNewProfile: true,
      takesProfileOfAddress: false,
      workingDirectory: resolvePath(host, '.'),
    }).output.value
  } catch {
    return env['CHATCTL_OUTPUT']
  }
}

function isJson(format: string | undefined): boolean {
  return format === 'json' || format === 'jsonl'
}
