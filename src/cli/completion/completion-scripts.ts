import bash from './scripts/chatctl.bash'
import fish from './scripts/chatctl.fish'
import powershell from './scripts/chatctl.ps1'
import zsh from './scripts/chatctl.zsh'

export const shells = ['bash', 'zsh', 'fish', 'powershell'] as const
export type Shell = (typeof shells)[number]

/**
 * Each script hands what was typed to `chatctl complete` and offers what comes back, so that all four
 * know what one place knows.
 */
export const completionScripts: Record<Shell, string> = { bash, zsh, fish, powershell }
