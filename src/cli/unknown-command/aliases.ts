const noPermissionRead =
  'The API of the service cannot read permissions. Assign permissions with: chatctl users permissions assign ID'
const methodIsArgument = 'The method is an argument: chatctl api METHOD PATH.'

/**
 * What other tools call a command, a word, or a flag, and what we call it: at most 80. A value is a command
 * line, whose words in capitals are filled with those that were typed (MESSAGE with all of them), or a sentence.
 * A key `* WORD` is a word in any place of a command.
 */
const aliases: Readonly<Record<string, string>> = {
  '* ls': 'list',
  '* show': 'get',
  '* view': 'get',
  '* describe': 'get',
  '* add': 'create',
  '* new': 'create',
  '* edit': 'update',
  '* rm': 'delete',
  '* remove': 'delete',
  '* server': 'service',
  '* api-keys': 'keys',

  help: '--help',
  version: '--version',
  upgrade:
    'Use the package manager that installed chatctl. Show the installed version with: chatctl --version',
  completion: 'autocomplete',
  status: 'doctor',

  init: 'auth login',
  whoami: 'auth status',
  'auth whoami': 'auth status',
  'auth switch': 'auth use',
  profiles: 'auth list',
  'config get-contexts': 'auth list',
  'config current-context': 'auth status',
  'config use-context': 'auth use',
  'config view': 'config list',
  'config show': 'config list',

  ask: 'chat send MESSAGE',
  run: 'Start a session with: chatctl chat --model MODEL. Start the embedded service with: chatctl service run',
  'chat create': 'chat',
  'chat continue': 'chat --continue',
  'chat resume': 'chat --resume SESSION',
  'chat list': 'chat sessions',
  sessions: 'chat sessions',
  'chat history': 'history list',
  'chat search': 'history search',
  'chat export': 'history export',
  'chat prompts create': 'chat prompts set',
  'chat prompts get': 'chat prompts show',
  'models default': 'config set model',
  pull: 'The API of the service cannot download models. List the models with: chatctl chat models',
  'service keys set': 'auth login --with-api-key',
  logs: 'Show past messages with: chatctl history list. Show the changes that were sent from this machine with: chatctl activity. Show the audit log of the embedded service with: chatctl service audit',

  plan: 'settings diff FILE --save PLAN',
  'settings plan': 'settings diff FILE --save PLAN',
  set: 'settings set',
  apply: 'settings apply FILE',
  'settings list': 'settings get',
  'settings update': 'settings set',
  'settings delete':
    'The API of the service cannot delete settings. Change a value with: chatctl settings set KEY=VALUE',
  'settings reset':
    'The API of the service cannot reset settings. Change a value with: chatctl settings set KEY=VALUE. Apply a saved file with: chatctl settings apply FILE',

  'get users': 'users list',
  'users delete': 'The API of the service cannot delete users. Change a user with: chatctl users update ID',
  'users search':
    'The API of the service cannot search users. Show one user with: chatctl users get ID. List the users that were created from this machine with: chatctl users list. List the users of the embedded service on this machine with: chatctl service users list',
  'users export':
    'The API of the service cannot list users, so chatctl cannot export them. Show users by ID with: chatctl users get ID --output jsonl. List the users that were created from this machine with: chatctl users list. List the users of the embedded service on this machine with: chatctl service users list',
  'users permissions get': noPermissionRead,
  'users permissions list': noPermissionRead,
  'users settings get': 'users profile',

  serve: 'service run',
  'service start': 'service run',
  'service stop':
    'Stop the embedded service with Ctrl-C or SIGTERM. Show its status with: chatctl service status',
  'service restart':
    'Stop the embedded service with Ctrl-C or SIGTERM, and start it again with: chatctl service run',
  'service logs': 'service audit',
  'service keys delete': 'service keys revoke',

  '--format': '--output',
  '--verbose': '--debug',
  '--host': '--base-url',
  '--url': '--base-url',
  '--auto-approve': '--yes',
  '--force': '--yes',
  '--yes': 'This command has no confirmation prompt.',
  '--v': '--debug',
  '--template': '--prompt',
  '--fragment': '--file',
  '--cid': '--context',
  'users get --email':
    'The API of the service cannot find a user by email address. Show a user by ID with: chatctl users get ID.',
  'users update --email': 'The API of the service cannot change the email address of a user.',
  'users update --password':
    'The API of the service cannot change a password. For the embedded service, set one with: chatctl service users reset EMAIL.',
  'auth status --show-token': 'Print the token with: chatctl auth token.',
  'api --X': methodIsArgument,
  'api --method': methodIsArgument,
}

export function findAlias(typed: string): string | undefined {
  return Object.hasOwn(aliases, typed) ? aliases[typed] : undefined
}

/** The words of each alias of a command. */
export const aliasPaths: readonly string[][] = Object.keys(aliases)
  .filter((key) => /^[a-z]+( |$)(?!.*--)/.test(key))
  .map((key) => key.split(' '))
