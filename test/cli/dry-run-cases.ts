export const password = 'canary-password-of-a-dry-run'

/** Placeholder for the ID of a key that exists. */
export const keyToRevoke = 'KEY'
export const sessionToRevoke = 'SESSION'
export const trustToRevoke = 'prepared'

/** Files in the working directory of the run, with their content. */
const usersFile = 'users.csv'
const rolesFile = 'roles.csv'
export const files = {
  [usersFile]: `email,password,role\nada@example.com,${password},\nbob@example.com,,editor\n`,
  [rolesFile]: 'id,role\nu1,editor\n',
}

/** An editor that changes one key. */
export const editing = { EDITOR: 'echo "app_name: New" >' }

/** A command line that would make a change, and the expected output of --dry-run. */
interface Case {
  /** Its words, as one text if none has a space. */
  line: string | string[]
  stdin?: string
  env?: NodeJS.ProcessEnv
  /** The request that is not sent, for a change to the service. */
  request?: { method: string; path: string; body?: unknown }
  /** The output if there is no such request: the local change that is not made, or the summary of a file. */
  change?: unknown
  /** A field that the real run would show, if it is not a column of the command's view. */
  answered?: string
}

export const cases: readonly Case[] = [
  {
    line: ['api', 'POST', '/v1/users', '--data', JSON.stringify({ name: 'Ada', password })],
    request: { method: 'POST', path: '/v1/users', body: { name: 'Ada', password: '[redacted]' } },
  },
  { line: 'api GET /v1/x', request: { method: 'GET', path: '/v1/x' } },
  {
    line: 'chat send Hello --context c1',
    request: {
      method: 'POST',
      path: '/api/chat/send',
      body: { message: 'Hello', context_id: 'c1', stream: true },
    },
  },
  {
    line: 'chat prompts set review',
    stdin: 'Review this:',
    change: { name: 'review', replaced: true, path: '~/.config/chatctl/prompts/review.md' },
  },
  {
    line: 'chat complete --prompt review Hello --temperature 1',
    request: {
      method: 'POST',
      path: '/v1/chat/completions',
      body: { messages: [{ role: 'user', content: 'Review this change:\n\nHello' }], temperature: 1 },
    },
  },
  {
    line: 'settings apply - --yes',
    stdin: 'theme: { mode: dark }\nlimits: { max_tokens: 5 }',
    request: {
      method: 'PATCH',
      path: '/v1/settings',
      body: { theme: { mode: 'dark' }, limits: { max_tokens: 5 } },
    },
  },
  {
    line: 'settings edit',
    env: editing,
    request: { method: 'PATCH', path: '/v1/settings', body: { app_name: 'New' } },
  },
  {
    line: 'users create --email ada@example.com --password-stdin',
    stdin: password,
    request: {
      method: 'POST',
      path: '/v1/users',
      body: { email: 'ada@example.com', password: '[redacted]' },
    },
  },
  {
    line: `users permissions assign --file ${rolesFile}`,
    answered: 'updated',
    change: {
      ...{ rows: 1, already_done: 0, reads: 0, creates: 0, updates: 0, assignments: 1, requests: 1 },
      first_requests: [
        { line: 2, method: 'POST', url: 'SERVICE/v1/users/u1/permissions', body: { role: 'editor' } },
      ],
    },
  },
  {
    line: `users import ${usersFile}`,
    change: {
      ...{ rows: 2, already_done: 0, reads: 0, creates: 2, updates: 0, assignments: 1, requests: 3 },
      first_requests: [
        {
          ...{ line: 2, method: 'POST', url: 'SERVICE/v1/users' },
          body: { email: 'ada@example.com', password: '[redacted]' },
        },
        { line: 3, method: 'POST', url: 'SERVICE/v1/users', body: { email: 'bob@example.com' } },
        {
          ...{ line: 3, method: 'POST', url: 'SERVICE/v1/users/{id}/permissions' },
          body: { role: 'editor' },
        },
      ],
    },
  },
  {
    line: 'auth login --profile work --base-url https://chat.example --with-api-key',
    change: {
      sign_in: { profile: 'work', base_url: 'https://chat.example', with: 'an API key', storage: 'keychain' },
    },
  },
  {
    line: 'auth logout --profile other --base-url https://chat.example',
    change: { sign_out: [{ profile: 'other', base_url: 'https://chat.example', storage: 'keychain' }] },
  },
  { line: 'auth remove other', change: { remove: 'other', sign_out: [], default: false, directories: [] } },
  { line: 'auth rename other acme', change: { rename: 'other', name: 'acme' } },
  { line: 'auth use other', change: { profile: null, key: 'default_profile', value: 'other' } },
  {
    line: 'config set model small --profile work',
    change: { profile: 'work', key: 'model', value: 'small' },
  },
  { line: 'config unset model --profile other', change: { profile: 'other', key: 'model', value: null } },
  {
    line: 'service keys create --name ci',
    change: {
      create: {
        name: 'ci',
        tier: 'free',
        limit: 100,
        user_id: 'usr_admin',
        user_email: 'admin@localhost',
        permissions: null,
        expires_at: null,
      },
    },
  },
  {
    line: `service keys update ${keyToRevoke} --tier pro --permission read:chat`,
    change: {
      update: keyToRevoke,
      name: 'ci',
      tier: 'pro',
      limit: 1000,
      user_id: 'usr_admin',
      user_email: 'admin@localhost',
      permissions: ['read:chat'],
      expires_at: null,
    },
  },
  {
    line: 'service admin create henry@example.com --name Henry',
    change: { create: { email: 'henry@example.com', name: 'Henry', role: 'admin' } },
  },
  {
    line: 'service users reset admin@localhost --password-stdin',
    stdin: password,
    change: { reset: { id: 'usr_admin', email: 'admin@localhost' } },
  },
  { line: 'service backup --to copy.db', change: { back_up_to: 'copy.db' } },
  {
    line: 'service restore earlier.db',
    change: { restore: '~/earlier.db', replace: '~/.local/share/chatctl/chatctl.db' },
  },
  { line: `service keys revoke ${keyToRevoke}`, change: { revoke: keyToRevoke } },
  {
    line: 'service trust create deploy --issuer https://ci.example --audience a --subject b --permission read:chat --expires 5m',
    change: {
      create: {
        name: 'deploy',
        issuer: 'https://ci.example',
        audience: 'a',
        subject: 'b',
        permissions: ['read:chat'],
        user_id: 'usr_admin',
        user_email: 'admin@localhost',
        tier: 'free',
        limit: 100,
        expires_in: 300,
      },
    },
  },
  { line: `service trust revoke ${trustToRevoke}`, change: { revoke: trustToRevoke } },
  { line: `service sessions revoke ${sessionToRevoke}`, change: { revoke: sessionToRevoke } },
]
