import { dirname, isAbsolute } from 'node:path'
import type { Options } from '../config/resolve-options.ts'
import { isSecretName } from '../contract/secret-fields.ts'

/** A command line to paste into a shell, with the profile and base URL from the flags of this run. */
export function commandFor({ options }: { options: Options }, ...words: readonly string[]): string {
  const { profile, base_url: baseUrl } = options
  const named = [
    ...(profile.source === 'flag' && profile.value ? ['--profile', profile.value] : []),
    ...(baseUrl.source === 'flag' && baseUrl.value ? ['--base-url', baseUrl.value] : []),
  ]
  return commandLine(...words, ...named)
}

/** A command line of chatctl to paste into a shell. */
export function commandLine(...words: readonly string[]): string {
  return ['chatctl', ...words].map((word) => quoteWord(word)).join(' ')
}

/**
 * A word to paste into the shell of a system: a POSIX shell, or on Windows cmd.exe and PowerShell. If double
 * quotes are enough, the result is the same for all of them. If not, cmd.exe and PowerShell have no notation in
 * common, and the result is for PowerShell.
 */
export function quoteWord(word: string, platform: NodeJS.Platform = process.platform): string {
  if (platform === 'win32') return quoteForWindows(word)
  if (/^[\w./:@%+=,-]+$/.test(word)) return word
  return /["$`\\!%\n]/.test(word) || word === '' ? `'${word.replaceAll("'", "'\\''")}'` : `"${word}"`
}

function quoteForWindows(word: string): string {
  // At the beginning of a word, PowerShell expands @.
  if (/^(?!@)[\w./:\\@+=,-]+$/.test(word)) return word
  // In an argument of a program, backslashes before a double quote are escapes.
  const argument = word.replaceAll(
    /(?<!\\)(\\*)("|$)/g,
    (_, slashes, quote) => slashes + slashes + quote.replace('"', '\\"'),
  )
  // PowerShell ends a string at a curly quote too.
  const isCommon = !/["$`%\n\u2018-\u201f]/.test(word)
  return isCommon ? `"${argument}"` : `'${argument.replaceAll(/['\u2018-\u201b]/g, '$&$&')}'`
}

/** Commands that set a variable of the environment. */
export function assignment(variable: string, value: string, platform = process.platform): string {
  if (platform !== 'win32') return `export ${variable}=${quoteWord(value, platform)}`
  return `set "${variable}=${value}", or in PowerShell: $env:${variable} = '${value.replaceAll("'", "''")}'`
}

/** A command that ends processes. Windows ends a process without a window only by force. */
export function endCommand(processIds: readonly number[], platform = process.platform): string {
  if (platform !== 'win32') return `kill ${processIds.join(' ')}`
  return `taskkill /F ${processIds.map((pid) => `/PID ${pid}`).join(' ')}`
}

/**
 * The same command line with other values for some flags, to paste into a shell.
 * @param argv the words after its name
 * @param flags the new values; undefined removes the flag
 * @param switches flags without a value to remove
 */
export function commandWith(
  { id = '', argv }: { id?: string | undefined; argv: readonly string[] },
  flags: Record<string, string | undefined>,
  switches: readonly string[] = [],
): string {
  const names = Object.keys(flags)
  const end = argv.includes('--') ? argv.indexOf('--') : argv.length
  const kept = argv.slice(0, end).filter((word, index) => {
    const isValue = names.some((name) => argv[index - 1] === `--${name}`)
    const isSwitch = switches.some((name) => word === `--${name}`)
    return (
      !isValue && !isSwitch && !names.some((name) => word === `--${name}` || word.startsWith(`--${name}=`))
    )
  })
  const added = Object.entries(flags).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, value],
  )
  return commandLine(...id.split(':'), ...kept, ...added, ...argv.slice(end))
}

/** The flag that names a database: a file, or `postgres://host:port/name`. */
export function databaseFlagOf(place: string): string {
  return isAbsolute(place) ? `--data ${quoteWord(dirname(place))}` : `--database ${quoteWord(place)}`
}

/** Names of flags and keys that would hold a secret. */
export const asksSecret = /^(api-?key|(access-?|auth-?|bearer-?)?token|key|secret|password|passwd|pass)$/

export const secretAdvice =
  'Do not pass a key or a password as an argument, because other users of this machine can read it. Set CHATCTL_API_KEY, or sign in with: chatctl auth login --with-api-key'

/**
 * Whether a word looks like an API key, or holds a secret, so that a message must not repeat it: `sk-…`, a JSON Web
 * Token, `https://user:password@host`, `api_key=…`.
 */
export function looksSecret(word: string): boolean {
  const names = word.split(/[=:](?=\S)/).slice(0, -1)
  const isKey = /(^|[=:])((sk|pk|ck|gh[pousr]|xox[a-z])[-_]|eyJ[\w-]{10})/i.test(word)
  return isKey || /bearer |:\/\/[^/]*@/i.test(word) || names.some(isSecretName)
}

/** Whether a text has such a word. A question about bearer tokens is no secret. */
export function holdsSecret(text: string): boolean {
  return text.split(/\s+/).some(looksSecret) || /^(\S+:\s*)?bearer\s+\S+$/i.test(text.trim())
}
