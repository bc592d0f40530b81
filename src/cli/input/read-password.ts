import * as Flags from '@oclif/core/flags'
import { Failure } from '../../contract/failure.ts'
import { passwordLength } from '../../contract/resources/password-length.ts'
import { maxSecretBytes } from '../../system/files/read-named-file.ts'
import type { Context } from '../context/context.ts'
import { textFlag } from '../flags/flag-types.ts'
import { readSecretFile, readStdin, withoutFinalNewline } from './read-input.ts'

interface PasswordSource {
  stdin: boolean
  file: string | undefined
  /** The flags that replace the prompt. */
  instead: string
  /** What to do if the password is empty. */
  ifEmpty?: string
}

/** How often a person may type two different passwords. */
const maxAttempts = 3

/**
 * A new password from stdin, a file, or a hidden prompt, where a person types it twice. Of stdin, the
 * first line is read. One final newline of a file is removed.
 * @throws Failure `input_needed` in a non-interactive run, `refused` if it is empty or the two passwords
 *   still do not match
 */
export async function readPassword(source: PasswordSource, context: Context): Promise<string> {
  const password = await read(source, context)
  if (password === '') throw new Failure('refused', 'The password is empty', { hint: source.ifEmpty })
  return password
}

async function read(source: PasswordSource, context: Context): Promise<string> {
  if (source.stdin) return firstLine(await readStdin('the password', context, maxSecretBytes))
  if (source.file !== undefined) return withoutFinalNewline(readSecretFile(source.file, context))
  const { prompter, streams } = context
  const words = 'The two passwords do not match'
  for (let attempt = 1; ; attempt++) {
    const password = await prompter.askSecret('Password:', source.instead)
    if (password === '') return ''
    if (password === (await prompter.askSecret('Password again:', source.instead))) return password
    if (attempt === maxAttempts) throw new Failure('refused', words)
    streams.say(`${words}. Type the password again.`)
  }
}

/** @throws Failure `refused` if another line is not empty: a newline in a password cannot be typed to sign in */
function firstLine(text: string): string {
  const [first = '', ...others] = text.split(/\r?\n/)
  if (others.every((line) => line === '')) return first
  throw new Failure('refused', 'stdin has more than one line, and a password is one line', {
    hint: 'Pass only the password: head -n 1 FILE | chatctl … --password-stdin',
  })
}

export const newPasswordFlags = {
  'password-stdin': Flags.boolean({ summary: 'Read the password from stdin', exclusive: ['password-file'] }),
  'password-file': textFlag({ helpValue: 'FILE', summary: 'Read the password from a file' }),
}

/** @throws as `readPassword` */
export function readNewPassword(
  flags: { 'password-stdin': boolean; 'password-file': string | undefined },
  context: Context,
): Promise<string> {
  const source = { stdin: flags['password-stdin'], file: flags['password-file'] }
  const { min, max } = passwordLength
  const isTyped = !source.stdin && source.file === undefined && context.prompter.canAsk
  if (isTyped) context.streams.say(`A password has ${min} to ${max} characters.`)
  return readPassword({ ...source, instead: '--password-stdin or --password-file' }, context)
}

/** No characters that look alike, none that a shell or a form would take for its own. */
const alphabet = 'ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789-_.'
const length = 24

/**
 * 24 of 60 characters: about 141 bits. A digit, a capital and a mark for services that ask for them. It does not begin
 * with a hyphen, because a spreadsheet takes the cell of a results file for a formula then.
 */
export function generatePassword(): string {
  for (;;) {
    const password = Array.from({ length }, randomCharacter).join('')
    if ([/^[^-]/, /[0-9]/, /[A-Z]/, /[a-z]/, /[-_.]/].every((kind) => kind.test(password))) return password
  }
}

/** Bytes beyond the last whole multiple of the alphabet would favor its beginning. */
function randomCharacter(): string {
  const fair = 256 - (256 % alphabet.length)
  for (;;) {
    const [byte = 255] = crypto.getRandomValues(new Uint8Array(1))
    if (byte < fair) return alphabet.charAt(byte % alphabet.length)
  }
}
