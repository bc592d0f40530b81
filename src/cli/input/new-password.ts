import * as Flags from '@oclif/core/flags'
import type { Context } from '../create-context.ts'
import { textFlag } from '../flag-types.ts'
import { readPassword } from './read-password.ts'

/** Where a password comes from that a person would else be asked for twice. */
export const newPasswordFlags = {
  'password-stdin': Flags.boolean({
    summary: 'Read the password from stdin.',
    exclusive: ['password-file'],
  }),
  'password-file': textFlag({ helpValue: '<file>', summary: 'Read the password from a file.' }),
}

/** @throws as `readPassword` */
export function readNewPassword(
  flags: { 'password-stdin': boolean; 'password-file': string | undefined },
  context: Context,
): Promise<string> {
  const source = { stdin: flags['password-stdin'], file: flags['password-file'], twice: true }
  return readPassword({ ...source, instead: '--password-stdin or --password-file' }, context)
}
