import * as Flags from '@oclif/core/flags'
import { Failure } from '../../contract/failure.ts'
import { maxSecretBytes } from '../../system/read-named-file.ts'
import type { Context } from '../context.ts'
import { textFlag } from '../flag-types.ts'
import { readSecretFile, readStdin, withoutFinalNewline } from './read-input.ts'

interface PasswordSource {
  stdin: boolean
  file: string | undefined
  /** Whether a person types it twice, since nobody could look it up. */
  twice?: boolean
  /** The flags that give it where nobody can be asked. */
  instead?: string
}

/**
 * A new password from stdin, a file or a hidden prompt; one final newline is dropped.
 *
 * @throws Failure `input_needed` where nobody can be asked, `refused` when it is empty or was typed
 * in two ways
 */
export async function readPassword(source: PasswordSource, context: Context): Promise<string> {
  const password = await read(source, context)
  if (password === '') throw new Failure('refused', 'The password is empty')
  return password
}

async function read(source: PasswordSource, context: Context): Promise<string> {
  if (source.stdin) return withoutFinalNewline(await readStdin('the password', context, maxSecretBytes))
  if (source.file !== undefined) return withoutFinalNewline(readSecretFile(source.file, context))
  const { twice, instead = '--password-stdin, --password-file, or --generate-password' } = source
  const password = await context.prompter.askSecret('Password:', instead)
  if (
    twice &&
    password !== '' &&
    password !== (await context.prompter.askSecret('Password again:', instead))
  ) {
    throw new Failure('refused', 'The two passwords do not match')
  }
  return password
}

/** Where a password comes from that a person would else be asked for twice. */
export const newPasswordFlags = {
  'password-stdin': Flags.boolean({
    summary: 'Read the password from stdin',
    exclusive: ['password-file'],
  }),
  'password-file': textFlag({ helpValue: 'FILE', summary: 'Read the password from a file' }),
}

/** @throws as `readPassword` */
export function readNewPassword(
  flags: { 'password-stdin': boolean; 'password-file': string | undefined },
  context: Context,
): Promise<string> {
  const source = { stdin: flags['password-stdin'], file: flags['password-file'], twice: true }
  return readPassword({ ...source, instead: '--password-stdin or --password-file' }, context)
}

/** No characters that look alike, none that a shell or a form would take for its own. */
const alphabet = 'ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789-_.'
const length = 24

/** 24 of 60 characters: about 141 bits. A digit, a capital and a mark for services that ask for them. */
export function generatePassword(): string {
  for (;;) {
    const password = Array.from({ length }, randomCharacter).join('')
    if ([/[0-9]/, /[A-Z]/, /[a-z]/, /[-_.]/].every((kind) => kind.test(password))) return password
  }
}

/** Bytes beyond the last whole multiple of the alphabet would favour its beginning. */
function randomCharacter(): string {
  const fair = 256 - (256 % alphabet.length)
  for (;;) {
    const [byte = 255] = crypto.getRandomValues(new Uint8Array(1))
    if (byte < fair) return alphabet.charAt(byte % alphabet.length)
  }
}
