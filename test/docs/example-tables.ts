import { packageFile } from '../scripts/package-file.ts'

/** The values that exist in the world of the examples, for their placeholders. */
export interface Names {
  url: string
  home: string
  userId: string
  contextId: string
  messageId: string
  keyId: string
  revokedKeyId: string
  sessionId: string
  transcriptId: string
  /** Transcripts that an example may delete, each once. */
  deletableIds: string[]
  /** Trusts that an example may revoke, each once. */
  trustNames: string[]
  /** A different number for each example. */
  number: number
}

/** Words of the examples and their replacements. The examples run unchanged except for these. */
export const substitutions: readonly { of: RegExp; by: (names: Names) => string; why: string }[] = [
  {
    of: /(?<!--public-url )https:\/\/(chat|login)\.example(?=\s|$)/g,
    by: ({ url }) => url,
    why: 'the service runs on loopback',
  },
  { of: /(?<=base-url )http:\/\/127\.0\.0\.1:8787/g, by: ({ url }) => url, why: 'its port is a free one' },
  { of: /\bmy-client\b/g, by: () => 'chatctl', why: 'the one client of the embedded service' },
  { of: /'op read [^']+'/g, by: ({ home }) => `'cat ${home}/key.txt'`, why: 'no password manager' },
  {
    of: /auth login(?![^|&]*--credential-command)/g,
    by: () => 'auth login --insecure-storage',
    why: 'no keychain; test/programs has one',
  },
  { of: /--with-api-key$/g, by: () => '--with-api-key < key.txt', why: 'stdin is not a terminal' },
  {
    of: /((?:admin create|users reset) (?:ada|grace)@example.com(?: --name "Ada")?)(?= --data| --dry-run|$)/g,
    by: () => '$1 --password-file password.txt',
    why: 'stdin is not a terminal',
  },
  {
    of: /(?<=users create --email |users create --profile team --email |admin create )(ada|grace)@/g,
    by: ({ number }) => `$1-${number}@`,
    why: 'these two already exist',
  },
  { of: /(?<=keys revoke )KEY_ID\b/g, by: ({ revokedKeyId }) => revokedKeyId, why: 'a placeholder' },
  { of: /(?<=keys update )KEY_ID\b/g, by: ({ keyId }) => keyId, why: 'a placeholder' },
  { of: /(?<=trust create )[a-z]+/g, by: ({ number }) => `$&-${number}`, why: 'a name exists once' },
  {
    of: /(?<=trust revoke )[a-z]+/g,
    by: ({ trustNames }) => trustNames.pop() ?? '',
    why: 'a trust that exists',
  },
  { of: /\bSESSION_ID\b/g, by: ({ sessionId }) => sessionId, why: 'a placeholder' },
  { of: /\bMESSAGE_ID\b/g, by: ({ messageId }) => messageId, why: 'a placeholder' },
  { of: /(--context) ID\b/g, by: ({ contextId }) => `$1 ${contextId}`, why: 'a placeholder' },
  {
    of: /(?<=\bchat (show|rename) )(ID|s20261121)(?=\s|$)/g,
    by: ({ transcriptId }) => transcriptId,
    why: 'a placeholder',
  },
  {
    of: /(?<=\bchat delete )s20261121(?=\s|$)/g,
    by: ({ deletableIds }) => deletableIds.pop() ?? '',
    why: 'a placeholder',
  },
  { of: /\bID\b(?! --line)/g, by: ({ userId }) => userId, why: 'a placeholder' },
  { of: /^sudo -u chatctl |^ExecStart=\/usr\/bin\/env /g, by: () => '', why: 'the tester is that user' },
  {
    of: /^docker compose exec chat /g,
    by: () => '',
    why: 'test/release/service-image.test.ts has a container',
  },
  {
    of: /\/var\/lib\/chatctl\/backup\.db/g,
    by: ({ home }) => `${home}/backup.db`,
    why: 'a directory of the system',
  },
  {
    of: /--data \/var\/lib\/chatctl/g,
    by: ({ home }) => `--data ${home}/.local/share/chatctl`,
    why: 'a directory of the system',
  },
  { of: /service run(?!.* --port)(?= --|$)/g, by: () => '$& --port 0', why: 'a free port' },
  {
    of: /(?<=config seal-key )seal\.key/g,
    by: ({ number }) => `seal-${number}.key`,
    why: 'no file is replaced',
  },
  { of: /npx chatctl/g, by: () => 'chatctl', why: 'npx runs the installed program' },
  { of: /--port 8787/g, by: () => '--port 0', why: 'a free port' },
  { of: /--host 0\.0\.0\.0/g, by: () => '--host 127.0.0.1', why: 'tests listen on loopback only' },
  {
    of: / \| source$|^source <\(|(?<=autocomplete (?:bash|zsh))\)$/g,
    by: () => '',
    why: 'words of other shells',
  },
  { of: / \| Out-String \| Invoke-Expression/g, by: () => '', why: 'words of PowerShell' },
]

/** The examples that cannot run here, with the reason and the test that covers them. */
export const elsewhere: readonly { text: string; why: string; test: string }[] = [
  ...['get ada@example.com', 'get grace@example.com', 'update ada@example.com --name "Ada Lovelace"'].map(
    (words) => ({
      text: `chatctl users ${words}`,
      why: 'the user of the world was not created from this machine',
      test: 'test/commands/users/by-email.test.ts',
    }),
  ),
  { text: 'npm test', why: 'runs this test', test: '.ci/run' },
  { text: 'npm start -- chat send "Hello"', why: 'builds', test: 'test/slow/program/first-commands.test.ts' },
  { text: 'npm ci && npm run build && npm link', why: 'installs', test: '.ci/run' },
  {
    text: 'npm ci && npm pack && npm install --global ./chatctl-*.tgz',
    why: 'installs',
    test: 'test/release/package.test.ts',
  },
  {
    text: `npm install ./chatctl-${packageFile.version}.tgz`,
    why: 'installs',
    test: 'test/slow/suites/client-library.test.ts',
  },
  {
    text: 'curl -fsSLO https://github.com/OWNER/chatctl/releases/latest/download/install.sh\nsh install.sh\n',
    why: 'needs a release',
    test: 'test/release/install-script.test.ts',
  },
  {
    text: 'chatctl "A shell script that counts files" --extract > count.sh',
    why: 'needs a reply with code',
    test: 'test/commands/chat/extract.test.ts',
  },
  {
    text: 'chatctl chat show --last -x',
    why: 'needs a reply with code',
    test: 'test/commands/chat/manage-sessions.test.ts',
  },
  {
    text: 'chatctl service status --ready',
    why: 'needs a service in another process',
    test: 'test/cli/context/beside-service.test.ts',
  },
  { text: 'chatctl chat', why: 'needs a terminal', test: 'test/programs/chat/talk-screen.test.ts' },
  {
    text: 'chatctl chat "What is a write-ahead log?"',
    why: 'needs a terminal',
    test: 'test/chat/session/slash-commands.test.ts',
  },
  { text: 'chatctl chat --resume', why: 'needs a terminal', test: 'test/programs/chat/talk-resume.test.ts' },
  { text: 'chatctl chat show', why: 'needs a terminal', test: 'test/commands/chat/manage-sessions.test.ts' },
  {
    text: 'chatctl chat --resume "trip to Rome" --fork 3',
    why: 'needs a terminal',
    test: 'test/chat/session/fork.test.ts',
  },
  {
    text: 'chatctl chat --continue',
    why: 'needs a terminal',
    test: 'test/programs/chat/talk-resume.test.ts',
  },
  {
    text: 'chatctl chat --resume "trip to Rome"',
    why: 'needs a terminal',
    test: 'test/programs/chat/talk-resume.test.ts',
  },
  {
    text: 'chatctl chat prompts set review',
    why: 'needs a terminal',
    test: 'test/commands/chat/prompts.test.ts',
  },
  {
    text: 'chatctl auth login --profile work --base-url https://chat.example --device',
    why: 'waits for a browser on another machine',
    test: 'test/commands/auth/embedded-service.test.ts',
  },
  ...[
    '    - chatctl settings apply settings.yaml --yes',
    'CHATCTL_OIDC=gitlab chatctl auth login --ci --profile job --base-url "$SERVICE_URL" --insecure-storage\nchatctl settings diff settings.yaml --profile job\n',
  ].map((text) => ({
    text,
    why: 'needs an identity token of GitLab',
    test: 'test/auth/identity/ci-identity.test.ts',
  })),
  ...[
    'chatctl exec --permission read:chat -- ./report.sh',
    "chatctl exec --permission '*:chat' --for 4h -- agent --model MODEL",
  ].map((text) => ({ text, why: 'its program does not exist', test: 'test/auth/exchanged-token.test.ts' })),
  ...['chatctl auth refresh', 'chatctl auth refresh --profile work --scope chat:read'].map((text) => ({
    text,
    why: 'the profile has an API key',
    test: 'test/commands/auth/refresh.test.ts',
  })),
  {
    text: 'chatctl settings set experimental.flag:=true --allow-unknown-keys',
    why: 'the embedded service has no such key',
    test: 'test/commands/settings/unknown-keys.test.ts',
  },
  ...[
    'chatctl settings revert CHANGE_ID',
    'chatctl settings revert CHANGE_ID --save revert.plan',
    'chatctl settings apply revert.plan',
  ].map((text) => ({
    text,
    why: 'needs the ID of a change',
    test: 'test/commands/settings/history.test.ts',
  })),
  ...[
    'chatctl plan approve settings.plan --key ~/.ssh/id_ed25519',
    'chatctl plan approve sealed.plan --key ~/.ssh/id_ed25519 --seal-key-file seal.key',
    'chatctl config set approvers approvers --profile work',
  ].map((text) => ({
    text,
    why: 'needs an SSH key and ssh-keygen',
    test: 'test/programs/plan-approval.test.ts',
  })),
  ...[
    'chatctl users import users.csv --on-unknown created --id ID --line 12',
    'chatctl users import users.csv --on-unknown retry',
    'chatctl users import users.csv --on-unknown created --id usr_42 --line 17',
    'chatctl users import users.csv --on-unknown skip --line 17',
  ].map((text) => ({
    text,
    why: 'needs a lost answer',
    test: 'test/users/import/import-outcome.test.ts',
  })),
]

/** Creates a user whom an example deletes. */
const creatingHenry = `chatctl api POST /v1/users --profile local --data '{"email":"henry@example.com","password":"correct-horse"}'`

/** Commands that prepare an example, if the examples above it do not, or run elsewhere. */
export const preparations: Readonly<Record<string, string>> = {
  'chatctl service users delete henry@example.com': creatingHenry,
  'chatctl service users offboard henry@example.com --export henry.json': creatingHenry,
  'chatctl -c "And in one sentence?"': 'chatctl chat send Hello',
  'git show MERGE_HEAD:users.state.json > theirs.state.json': 'chatctl users adopt - < known-users.txt',
  'git diff | chatctl chat complete --prompt review --var language=Go':
    'chatctl chat prompts set review --file review.md',
  'chatctl settings diff settings.yaml --exit-code': 'chatctl settings apply settings.yaml --yes',
  'chatctl settings diff settings.plan': 'chatctl settings diff settings.yaml --save settings.plan',
  'chatctl settings apply settings.plan':
    'chatctl settings set app_name=Before && chatctl settings diff settings.yaml --save settings.plan',
  'chatctl users apply users.plan --results new-users.csv': 'chatctl users diff users.yaml --save users.plan',
  'chatctl users apply users.plan --results new-users.csv --yes':
    'chatctl users diff users.yaml --save users.plan',
  'chatctl users get --state users.state.json grace@example.com': 'chatctl users adopt - < known-users.txt',
  'chatctl users list --state users.state.json -o csv': 'chatctl users adopt - < known-users.txt',
  'chatctl users state merge users.state.json theirs.state.json':
    'chatctl users adopt - < known-users.txt && chatctl users adopt - --state theirs.state.json < known-users.txt',
  'chatctl chat prompts delete review commit --yes': 'chatctl chat prompts set review --file review.md',
  'chatctl settings apply settings.plan --yes':
    'chatctl settings set app_name=Before && chatctl settings diff settings.yaml --save settings.plan',
  'chatctl settings api get --last-sent': 'chatctl settings api set --version v2',
}

/** Exit codes other than 0 that the documents promise for an example. */
export const promisedCodes: Readonly<Record<string, number>> = {
  'chatctl settings diff base.yaml --file production.yaml --exit-code': 10,
  // The test program does not reply with JSON.
  [`chatctl "Name and year of birth of Ada Lovelace" --schema '{"type":"object","required":["name","year"],"properties":{"name":{"type":"string"},"year":{"type":"integer"}}}'`]: 7,
}

/** The examples for which the documents require that the service is stopped. */
export const needsStoppedService = /\bservice restore\b/

/** The examples after which the world signs in again. */
export const changesSignIn = /\bauth (login|logout|remove|rename|use)\b|\bdefault_profile\b/

/** Files in the working directory of the examples. Their placeholders are replaced, too. */
export const files: Readonly<Record<string, string>> = {
  'password.txt': 'correct-horse-battery\n',
  'name.txt': 'Support',
  'seal.key': `${'A'.repeat(43)}=\n`,
  'settings.yaml': 'app_name: Support\ntheme: { mode: dark }\n',
  'base.yaml': 'theme: { mode: light }\n',
  'production.yaml': 'limits: { max_tokens: 2048 }\n',
  'api.yaml': 'version: v2\nrate_limiting: { enabled: false }\n',
  'CONTRIBUTING.md': '# Contributing\n',
  'parse.ts': 'export const parse = JSON.parse\n',
  'parse.test.ts': "import './parse.ts'\n",
  'reviewer.md': 'You review code.\n',
  'conversation.yaml': '- { role: user, content: Hello }\n',
  'users.tsv': 'ID\tAda\n',
  'ids.tsv': 'ID\n',
  'known-users.txt': 'grace@example.com=ID\n',
  'rows.csv': 'text\nHello\n',
  'reviews.csv': 'text\nGood\n',
  'roles.csv': 'id,role\nID,editor\n',
  // The file of docs/guides/prompts.md.
  'review.md':
    '---\ntemperature: 0.2\nsystem: You review {{language}} code. Report bugs only.\n---\nReview this change:\n\n{{input}}\n',
  'assignments.csv': 'id,permissions\nID,read:chat\n',
  // These two are the files of docs/guides/users-in-bulk.md.
  'users.csv':
    'email,name,password,role,permissions,metadata.company,metadata.seats:=,settings.theme\n' +
    'alan@example.com,Alan,correct-horse-battery,editor,read:chat;write:users,Acme,5,dark\n',
  'users.yaml': '- email: barbara@example.com\n  name: Barbara\n  role: editor\n',
  'users.jsonl':
    '{"email":"edsger@example.com","role":"editor","permissions":["read:chat"],"metadata":{"seats":5}}\n',
}

/** The prompts of the world, by name. */
export const prompts: Readonly<Record<string, string>> = {
  review: '---\ntemperature: 0.2\n---\nReview this change:\n\n{{input}}\n',
  commit: 'Write a commit message for this change:\n',
  translate: 'Translate to {{language}}:\n',
}
