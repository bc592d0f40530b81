import { spawnSync } from 'node:child_process'
import { programForAnyUser } from '../../support/any-user.ts'
import type { Run } from '../../support/run-chatctl.ts'

/** The ID of a user that owns nothing and has no account. */
export const stranger = 54_321

/** Runs the built program as another user, or a copy that this user can read. */
export function runAs(uid: number, args: readonly string[], env: NodeJS.ProcessEnv): Run {
  const words = [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', ...programForAnyUser(), ...args]
  const { status, stdout, stderr, error } = spawnSync('setpriv', words, { env, encoding: 'utf8', input: '' })
  if (error) throw error
  return { exitCode: status, stdout, stderr }
}
