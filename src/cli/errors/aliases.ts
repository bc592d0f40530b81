const noPermissionRead =
  'The interface of the service cannot read permissions. Assign permissions with: chatctl users permissions assign ID'
const noUserSearch =
  'The interface of the service cannot search or list users. Show one user with: chatctl users get ID. List the users that were created from this machine with: chatctl users list. List the users of the embedded service on this machine with: chatctl service users list'

/**
 * What other tools call a command, a word, or a flag, and what chatctl calls it: at most 80. A value that begins with
 * a capital is a sentence. A key `* WORD` is a word in any place of a command.
 */
export const aliases: Readonly<Record<string, string>> = {
  '* ls': 'list',
  '* show': 'get',
  '* view': 'get',
  '* add': 'create',
  '* new': 'create',
  '* edit': 'update',
  '* rm': 'delete',
  '* remove': 'delete',
  '* server': 'service',
  '* user': 'users',

  version: '--version',
  upgrade: 'Use the package manager that installed chatctl. Show the version with: chatctl --version',
  completion: 'autocomplete',
  status: 'doctor',

  init: 'auth login',
  login: 'auth login',
  logout: 'auth logout',
  whoami: 'auth status',
  'auth whoami': 'auth status',
  'auth switch': 'auth use',
  'config get': 'config list',

  ask: 'chat send',
  prompt: 'chat send',
  run: 'Start a session with: chatctl chat --model MODEL. Start the embedded service with: chatctl service run',
  'chat create': 'chat',
  'chat continue': 'chat --continue',
  'chat resume': 'chat --resume',
  'chat fork': 'chat --continue --fork',
  'chat last': 'chat show --last',
  'chat list': 'chat sessions',
  'chat conversations': 'chat sessions',
  'chat templates': 'chat prompts list',
  'chat history': 'history list',
  'chat search': 'history search',
  'chat export': 'history export',
  logs: 'Show the last conversation with: chatctl chat show --last. Show past messages with: chatctl history list. Show the changes sent from this machine with: chatctl activity',

  plan: 'settings diff',
  'settings plan': 'settings diff',
  set: 'settings set',
  apply: 'settings apply',
  'settings list': 'settings get',
  'settings update': 'settings set',
  'settings delete': 'The interface cannot delete settings. Change one with: chatctl settings set KEY=VALUE',
  'settings reset': 'The interface cannot reset settings. Apply a file with: chatctl settings apply FILE',

  'get users': 'users get',
  'create users': 'users create',
  'users set': 'users update',
  'users delete':
    'The interface cannot delete users. On the machine of the embedded service, use: chatctl service users delete USER',
  'users search': noUserSearch,
  'users export': noUserSearch,
  'users permissions get': noPermissionRead,
  'users permissions list': noPermissionRead,

  serve: 'service run',
  keys: 'service keys',
  'service start': 'service run',
  'service stop': 'Stop the embedded service with Ctrl-C or SIGTERM. See: chatctl service status',
  'service logs':
    'The log goes to stderr. To append it to a file, run: chatctl service run 2>> FILE. Show the audit log with: chatctl service audit',
  'service keys delete': 'service keys revoke',

  '-n': '--dry-run',
  '--format': '--output',
  '--verbose': '--debug',
  '--cid': '--context',
  '--attachment': '--file',
  '--template': '--prompt',
  '--role': '--prompt',
  '--no-log': '--no-save',
  '--upstream': '--model-server',
  '--host': '--base-url',
  '--url': '--base-url',
  '--auto-approve': '--yes',
  '--force': '--yes',
  '--yes': 'This command has no confirmation prompt.',
  'users get --email': 'The interface cannot find a user by email address. Use: chatctl users get ID.',
  'users update --password':
    'The interface cannot change a password. For the embedded service: chatctl service users reset EMAIL.',
  'api --method': 'The method is an argument: chatctl api METHOD PATH.',
}

export function findAlias(typed: string): string | undefined {
  return Object.hasOwn(aliases, typed) ? aliases[typed] : undefined
}

export function isSentence(alias: string): boolean {
  return /^[A-Z]/.test(alias)
}
