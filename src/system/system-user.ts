import { userInfo } from 'node:os'

/** The system user who runs this process, also with sudo: a name, or else a number. */
export function findSystemUser({ SUDO_USER: caller }: NodeJS.ProcessEnv): string {
  return (caller || ownName()).replaceAll(/[^\p{L}\p{N}._@\\-]/gu, '_').slice(0, 64)
}

function ownName(): string {
  try {
    return userInfo().username
  } catch {
    // A container may run as a number without a name.
    return `${process.getuid?.() ?? ''}`
  }
}
