import { guesses } from './guess-table.ts'

/** Words for the same thing, by the word of our commands. */
const nouns: Readonly<Record<string, string>> = {
  user: 'users',
  usr: 'users',
  member: 'users',
  members: 'users',
  account: 'users',
  accounts: 'users',
  setting: 'settings',
  'app-settings': 'settings',
  model: 'models',
  templates: 'prompts',
  patterns: 'prompts',
  key: 'keys',
  'api-key': 'keys',
  'api-keys': 'keys',
  // cspell:ignore apikey apikeys colour
  apikey: 'keys',
  apikeys: 'keys',
  permission: 'permissions',
  perms: 'permissions',
  role: 'permissions',
  roles: 'permissions',
  session: 'sessions',
  conversation: 'sessions',
  conversations: 'sessions',
  chats: 'sessions',
  message: 'history',
  messages: 'history',
  log: 'logs',
  profile: 'profiles',
  context: 'profiles',
  contexts: 'profiles',
  workspace: 'profiles',
  workspaces: 'profiles',
  server: 'service',
  daemon: 'service',
  configuration: 'config',
  cfg: 'config',
  preference: 'preferences',
}

/** Words for the same action, by ours. */
const verbs: Readonly<Record<string, string>> = {
  ls: 'list',
  lst: 'list',
  all: 'list',
  show: 'get',
  view: 'get',
  describe: 'get',
  inspect: 'get',
  info: 'get',
  cat: 'get',
  read: 'get',
  print: 'get',
  add: 'create',
  new: 'create',
  make: 'create',
  invite: 'create',
  register: 'create',
  edit: 'update',
  modify: 'update',
  patch: 'update',
  change: 'update',
  del: 'delete',
  remove: 'delete',
  rm: 'delete',
  destroy: 'delete',
  drop: 'delete',
  find: 'search',
  query: 'search',
  grep: 'search',
  dump: 'export',
  download: 'export',
  load: 'import',
  upload: 'import',
}

/** Flags as other tools spell them, and ours. Of several, the first that the command has. */
const flagSynonyms: Readonly<Record<string, string | readonly [string, string]>> = {
  format: 'output',
  verbose: 'debug',
  trace: 'debug',
  host: 'base-url',
  url: 'base-url',
  endpoint: 'base-url',
  'endpoint-url': 'base-url',
  server: 'base-url',
  'auto-approve': 'yes',
  force: 'yes',
  'assume-yes': 'yes',
  'no-confirm': 'yes',
  v: 'debug',
  out: 'save',
  count: 'limit',
  'max-items': 'limit',
  'per-page': 'limit',
  silent: 'quiet',
  last: 'continue',
  'non-interactive': 'no-input',
  'no-colour': 'no-color',
  query: 'jq',
  template: ['prompt', 'jq'],
  pattern: 'prompt',
  fragment: 'file',
  attachment: 'file',
  cid: 'context',
  sys: 'system',
  'no-log': 'no-save',
  param: 'var',
  variable: 'var',
  columns: 'fields',
  username: 'name',
  'full-name': 'name',
  'display-name': 'name',
  code: 'extract',
  'no-markdown': 'raw',
  check: 'dry-run',
  plan: 'dry-run',
}

/**
 * A line in our words: as it was typed, with its nouns and then its verbs replaced, and with the noun
 * before the verb.
 */
export function respell(words: readonly string[]): Spelling[] {
  const [first = '', second = '', ...rest] = words
  const replace = (table: Readonly<Record<string, string>>) => (word: string) => own(table, word) ?? word
  const named = [...[first, second].slice(0, words.length).map(replace(nouns)), ...rest]
  const acted = named.map((word, index) => (index < 3 ? replace(verbs)(word) : word))
  // kubectl lists with `get users`.
  const isList = rest.length === 0 && /^(get|show|describe|list|ls)$/.test(first) && second.endsWith('s')
  const swapped =
    words.length < 2 ? [] : [named, acted].map(([one = '', other = '', ...more]) => [other, one, ...more])
  return [
    ...(isList ? [shorten([named[1] ?? '', 'list'], true)] : []),
    ...[[...words], named, acted].map((order) => shorten(order, false)),
    ...swapped.map((order) => shorten(order, true)),
  ]
}

interface Spelling {
  words: string[]
  /** How many words were typed for the first. */
  shift: number
  /** Whether the first two were typed in the other order. */
  isSwapped: boolean
}

/** The nouns of the table are one word. */
function shorten(words: string[], isSwapped: boolean): Spelling {
  const isNoun = [
    'service keys',
    'users permissions',
    'chat sessions',
    'chat models',
    'chat prompts',
  ].includes(words.slice(0, 2).join(' '))
  return isNoun ? { words: words.slice(1), shift: 1, isSwapped } : { words, shift: 0, isSwapped }
}

/**
 * @param words as `respell` gives them
 * @returns the text of the longest guess that they begin with, and how many words it has
 */
export function findGuess(words: readonly string[]): { text: string; length: number } | undefined {
  for (let length = Math.min(words.length, 3); length > 0; length--) {
    const text = own(guesses, words.slice(0, length).join(' '))
    if (text !== undefined) return { text, length }
  }
  return undefined
}

/** First words and second words of guesses, among which a misspelled one is looked for. */
export const guessWords: ReadonlySet<string> = new Set([
  ...Object.keys(guesses).flatMap((key) => key.split(' ')),
  ...Object.keys(nouns),
  ...Object.keys(verbs),
])

/**
 * @param flag as typed, without its dashes
 * @param isKnown whether the command has a flag with this name
 */
export function findFlagSynonym(
  flag: string,
  isKnown: (name: string) => boolean = () => false,
): string | undefined {
  const meant = own(flagSynonyms, flag)
  if (meant === undefined || typeof meant === 'string') return meant
  return meant.find(isKnown) ?? meant[1]
}

function own<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined
}

const noPasswordChange =
  'The API of the service cannot change a password. For the embedded service, set one with: chatctl service users reset EMAIL.'
const permissionsOfNewUser =
  'A new user gets permissions in a second step: chatctl users permissions assign ID PERMISSION.'
const permissionsAreAssigned = 'Assign permissions with: chatctl users permissions assign ID PERMISSION.'

const methodIsArgument = 'The method is an argument: chatctl api METHOD PATH.'

/** Why a command does not have a flag; by the flag alone, or by command and flag. */
const absentFlags: Readonly<Record<string, string>> = {
  yes: 'This command has no confirmation prompt.',
  force: 'This command has no confirmation prompt.',
  'chatctl users get --email':
    'The API of the service cannot find a user by email address. Show a user by ID with: chatctl users get ID.',
  'chatctl users create --role':
    'A new user gets a role in a second step: chatctl users permissions assign ID --role ROLE.',
  'chatctl chat --output':
    'A session has no output format. For one message: chatctl chat send MESSAGE --output json.',
  'chatctl users create --permission': permissionsOfNewUser,
  'chatctl users create --permissions': permissionsOfNewUser,
  'chatctl users update --permission': permissionsAreAssigned,
  'chatctl users update --permissions': permissionsAreAssigned,
  'chatctl users update --password': noPasswordChange,
  'chatctl users update --password-stdin': noPasswordChange,
  'chatctl users update --password-file': noPasswordChange,
  'chatctl users update --generate-password': noPasswordChange,
  'chatctl users update --no-password': noPasswordChange,
  'chatctl users update --email': 'The API of the service cannot change the email address of a user.',
  'chatctl chat send --extract-last': 'Print only the last code block with: --extract=last.',
  'chatctl auth status --show-token': 'Print the token with: chatctl auth token.',
  'chatctl api --X': methodIsArgument,
  'chatctl api --request': methodIsArgument,
  'chatctl api --method': methodIsArgument,
  'chatctl doctor --fix': 'doctor changes nothing. It names the command that fixes each problem.',
}

/** @param command as typed, `chatctl users get` */
export function explainAbsentFlag(command: string, flag: string): string | undefined {
  return own(absentFlags, `${command} --${flag}`) ?? own(absentFlags, flag)
}
