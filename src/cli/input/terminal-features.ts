/** Features for which a terminal cannot be asked, so that its name and version decide. */
export interface TerminalFeatures {
  /** Whether it shows progress (OSC 9;4). Some others would show a notification with these numbers. */
  showsProgress: boolean
  /** The sequence that draws attention: a notification, or the bell. */
  notification(title: string, text: string): string
}

const oscStart = '\u001b]'
const oscEnd = '\u001b\\'
const bell = '\u0007'

/** The first versions that show progress. */
const showsProgressSince: Readonly<Record<string, string>> = {
  ghostty: '1.2.0',
  'iTerm.app': '3.6.6',
  WezTerm: '20250209',
}
/** VTE 0.80. */
const firstVte = 8000

export function findTerminalFeatures(env: NodeJS.ProcessEnv): TerminalFeatures {
  const { TERM: type = '', TERM_PROGRAM: program = '' } = env
  const since = showsProgressSince[program]
  return {
    showsProgress:
      Boolean(env['WT_SESSION']) ||
      env['ConEmuANSI'] === 'ON' ||
      Number(env['VTE_VERSION']) >= firstVte ||
      (since !== undefined && !isOlder(env['TERM_PROGRAM_VERSION'] ?? '0', since)),
    notification: (title, text) => {
      if (program === 'iTerm.app') return `${oscStart}9;${title}: ${text}${oscEnd}`
      const hasTitles =
        /^(ghostty|WezTerm)$/.test(program) || /^(xterm-kitty|xterm-ghostty|foot|rxvt)/.test(type)
      return hasTitles ? `${oscStart}777;notify;${title};${text}${oscEnd}` : bell
    },
  }
}

function isOlder(version: string, than: string): boolean {
  return version.localeCompare(than, 'en', { numeric: true }) < 0
}
