import { userInfo } from 'node:os'
import { orElse } from '../contract/or-else.ts'

/** The system user who runs this process, also with sudo: a name, or else a number. */
export function findSystemUser({ SUDO_USER: caller }: NodeJS.ProcessEnv): string {
  return (caller || ownName()).replaceAll(/[^\p{L}\p{N}._@\\-]/gu, '_').slice(0, 64)
}

/** A container may run as a number without a name. */
const ownName = (): string => orElse(() => userInfo().username, `${process.getuid?.() ?? ''}`)
