const noPermissionDelete =
  'The API of the service cannot delete permissions. Assign permissions with: {users permissions assign ID}'
const noRestart = 'Stop the embedded service with Ctrl-C or SIGTERM, and start it again with: {service run}'
const noUpdate =
  'chatctl does not update itself. Use the package manager that installed it. Show the installed version with: {--version}'
const noDestroy =
  'The API of the service cannot delete users or settings. Change a setting with: {=settings set KEY=VALUE}. Change a user with: {=users update ID --name NAME}'
const noStop = 'Stop the embedded service with Ctrl-C or SIGTERM. Show its status with: {service status}'
const noConfigurationRead =
  'The API of the service cannot read or reset the API configuration. Change it with: {settings api set --rate-limiting on}'
const noPermissionRead =
  'The API of the service cannot read permissions. Assign permissions with: {users permissions assign ID}'
const noUserList =
  'The API of the service cannot list users. Show one user with: {=users get ID}. List the users of the embedded service on this machine with: {service users list}'
const noSettingDelete =
  'The API of the service cannot delete settings. Change a value with: {settings set KEY=VALUE}'
const noMessageDelete = 'The API of the service cannot delete messages. Show them with: {history list}'
const noPull = 'The API of the service cannot download models. List the models with: {chat models}'

/**
 * What other tools call it, and ours. A value is a command line, or a sentence with command lines in
 * braces. A word in capitals is filled with the next word that was typed, MESSAGE with all of them; after
 * `{=`, no word is.
 * The keys use the nouns and verbs of `synonyms.ts`.
 */
export const guesses: Readonly<Record<string, string>> = {
  // This program
  version: '--version',
  help: '--help',
  upgrade: noUpdate,
  update: noUpdate,
  completion: 'autocomplete',
  completions: 'autocomplete',
  init: 'auth login',
  configure: 'auth login',
  setup: 'auth login',
  status: 'doctor',
  info: 'doctor',
  check: 'doctor',
  env: 'config list',

  // Sign-in
  login: 'auth login',
  logout: 'auth logout',
  signin: 'auth login',
  signout: 'auth logout',
  whoami: 'auth status',
  me: 'users profile',
  'auth whoami': 'auth status',
  'auth get': 'auth status',
  'auth switch': 'auth use PROFILE',
  'auth refresh':
    'chatctl refreshes an access token when it needs to. Print a valid token with: {auth token}. Sign in again with: {auth login}',
  'auth setup': 'auth login',
  'auth revoke': 'auth logout',
  'auth print-access-token': 'auth token',
  token: 'auth token',
  profiles: 'auth list',
  'profiles list': 'auth list',
  'profiles get': 'auth status',
  'profiles use': 'auth use PROFILE',
  'profiles switch': 'auth use PROFILE',
  'profiles create': 'auth login --profile NAME',
  'profiles delete': 'auth logout --profile NAME',
  'profiles select': 'auth use PROFILE',
  'config set-credentials': 'auth login --with-api-key',
  'config set-context': 'config set KEY VALUE',
  'config unset-context': 'auth logout --profile NAME',
  'config delete-context': 'auth logout --profile NAME',
  'auth signin': 'auth login',
  'auth signout': 'auth logout',
  'auth list-profiles': 'auth list',
  'config use-context': 'auth use PROFILE',
  'config get-contexts': 'auth list',
  'config current-context': 'auth status',
  'config list-profiles': 'auth list',
  use: 'auth use PROFILE',
  switch: 'auth use PROFILE',

  // Configuration
  'config view': 'config list',
  'config show': 'config list',
  'config delete': 'config unset KEY',
  'config edit':
    'Show the file of the configuration with: {config path}. Change one value with: {config set KEY VALUE}',
  'config reset': 'Remove one value with: {config unset KEY}. Show all values with: {config list}',
  'config create': 'config set KEY VALUE',
  'config update': 'config set KEY VALUE',

  // Chat
  ask: 'chat send MESSAGE',
  curl: 'api PATH',
  request: 'api PATH',
  prompt: 'chat send MESSAGE',
  send: 'chat send MESSAGE',
  say: 'chat send MESSAGE',
  'chat ask': 'chat send MESSAGE',
  'chat create': 'chat',
  'chat start': 'chat',
  repl: 'chat',
  run: 'Start a session with: {chat --model MODEL}. Start the embedded service with: {service run}',
  complete: 'chat complete MESSAGE',
  generate: 'chat complete MESSAGE',
  resume: 'chat --resume SESSION',
  continue: 'chat --continue',
  'chat list': 'chat sessions',
  'chat continue': 'chat --continue',
  'chat resume': 'chat --resume SESSION',
  'chat get': 'chat show SESSION',
  'chat logs': 'history list',
  'chat history': 'history list',
  'chat export': 'history export',
  sessions: 'chat sessions',
  'sessions list': 'chat sessions',
  'sessions get': 'chat show SESSION',
  'sessions create': 'chat',
  'sessions delete': 'chat delete SESSION',
  'sessions rename': 'chat rename SESSION NAME',
  models: 'chat models',
  'models list': 'chat models',
  'models get': 'The API of the service cannot show a single model. List the models with: {chat models}',
  'models create': 'The API of the service cannot add models. List the models with: {chat models}',
  'models delete': 'The API of the service cannot delete models. List the models with: {chat models}',
  'models default': 'config set model MODEL',
  'keys set': 'auth login --with-api-key',
  'logs list': 'history list',
  pull: noPull,
  embed: 'The API of the service cannot create embeddings. List the commands with: {--help}',
  'models pull': noPull,
  logs: 'Show past messages with: {history list}. Show the audit log of the embedded service with: {service audit}',
  history: 'history list',
  'history get': 'history list',
  'history search':
    'The API of the service cannot search messages. Export them with: {history export}. Show the latest with: {history list}',
  'history delete': noMessageDelete,
  'history clear': noMessageDelete,

  // Settings
  plan: 'settings diff FILE --save PLAN',
  destroy: noDestroy,
  'state list': 'settings get',
  'state get': 'settings get KEY',
  state: 'settings get',
  output: 'settings get',
  'bulk import': 'users import FILE',
  bulk: 'users import FILE',
  'settings plan': 'settings diff FILE --save PLAN',
  apply: 'settings apply FILE',
  diff: 'settings diff FILE',
  validate: 'settings diff FILE',
  export: 'Export settings with: {settings export}. Export messages with: {history export}',
  edit: 'settings edit',
  set: 'settings set KEY=VALUE',
  'settings list': 'settings get',
  'settings validate': 'settings diff FILE',
  'settings update': 'settings set KEY=VALUE',
  'settings create': 'settings set KEY=VALUE',
  'settings import': 'settings apply FILE',
  'settings delete': noSettingDelete,
  'settings unset': noSettingDelete,
  'settings reset':
    'The API of the service cannot reset settings. Change a value with: {settings set KEY=VALUE}. Apply a saved file with: {settings apply FILE}',
  'settings api get': noConfigurationRead,
  'settings api list': noConfigurationRead,
  'settings api reset': noConfigurationRead,
  'settings api delete': noConfigurationRead,
  'settings api update': 'settings api set',
  preferences: 'settings preferences',

  // Users
  'users list': noUserList,
  'users search':
    'The API of the service cannot search users. Show one user with: {=users get ID}. List the users of the embedded service on this machine with: {service users list}',
  'users export':
    'The API of the service cannot list users, so chatctl cannot export them. Show users by ID with: {=users get ID --output jsonl}. List the users of the embedded service on this machine with: {service users list}',
  'users delete': 'The API of the service cannot delete users. Change a user with: {users update ID}',
  'users disable': 'The API of the service cannot disable users. Change a user with: {users update ID}',
  'users apply': 'users import FILE',
  import: 'users import FILE',
  'users whoami': 'users profile',
  'users me': 'users profile',
  'users settings get': 'users profile',
  'users settings list': 'users profile',
  'users settings update': 'users settings set',
  'permissions list': noPermissionRead,
  'permissions get': noPermissionRead,
  'permissions delete': noPermissionDelete,
  permissions: 'users permissions assign ID',
  'permissions revoke': noPermissionDelete,
  'permissions create': 'users permissions assign ID',
  'permissions update': 'users permissions assign ID',
  'permissions set': 'users permissions assign ID',
  'permissions grant': 'users permissions assign ID',
  grant: 'users permissions assign ID',

  // The embedded service
  serve: 'service run',
  start: 'service run',
  up: 'service run',
  'service start': 'service run',
  'service serve': 'service run',
  'service up': 'service run',
  'service ps': 'service status',
  'service users create': 'users create --profile local',
  'service users get': 'users get ID --profile local',
  'service users delete':
    'The API of the service cannot delete users. List the users with: {service users list}',
  'service sessions delete': 'service sessions revoke ID',
  'service get': 'service status',
  'service list': 'service status',
  'service stop': noStop,
  'service restart': noRestart,
  'service logs': 'service audit',
  stop: noStop,
  down: noStop,
  restart: noRestart,
  ps: 'service status',
  backup: 'service backup',
  restore: 'service restore FILE',
  audit: 'service audit',
  keys: 'service keys list',
  'keys list': 'service keys list',
  'keys get': 'service keys list',
  'keys create': 'service keys create',
  'keys update': 'service keys update ID',
  'keys delete': 'service keys revoke ID',
  'keys revoke': 'service keys revoke ID',
  'keys rotate':
    'chatctl has no command that rotates a key. Create a key with: {service keys create}. Revoke the old key with: {service keys revoke ID}',
}
