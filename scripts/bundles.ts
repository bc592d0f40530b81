interface LazyBundle {
  /** Paths below src. The bundle exports what they export. Every other bundle loads them from it. */
  files?: readonly string[]
  /** The package that every other bundle loads from this one. */
  package?: string
  /** Code that exports the rest, or the package if not all of it. */
  exports?: string
  keepNames?: boolean
  /** Shortens the names of variables, which stack traces then show. */
  minifyIdentifiers?: boolean
}

/** The bundle of the service contains Kysely. That of PostgreSQL, which only the service loads, uses it. */
const kyselyForPostgres = `export {
  CompiledQuery, Kysely, PostgresDialect,
} from 'kysely'`

/**
 * The files of dist. `bin/run.js` loads `start`, which loads `main` or `chat`. `main` is what every run needs, the
 * commands included. `chat` is the same with only the commands of that topic. Each of the others is loaded when a run
 * first needs it. A bundle has its own copy of what it shares with another: see `Failure` for
 * the one class for which that matters.
 */
export const lazyBundles: Readonly<Record<string, LazyBundle>> = {
  service: {
    files: [
      'service/start-service.ts',
      'service/open-embedded-service.ts',
      'service/administration/administration.ts',
    ],
    exports: kyselyForPostgres,
  },
  'http-server': {
    files: ['service/http/create-server.ts', 'service/http/admin-server.ts', 'service/http/create-logger.ts'],
  },
  oauth: {
    files: ['service/oauth/open-oauth.ts'],
    // oidc-provider stores its records by the names of its classes.
    keepNames: true,
  },
  'model-servers': { files: ['service/replies/detect-model-servers.ts'] },
  'model-server': { files: ['service/replies/openai-compatible.ts'] },
  metrics: { files: ['service/metrics/create-metrics.ts'] },
  postgres: { files: ['service/store/postgres/open-postgres.ts'] },
  auth: {
    files: [
      'auth/authorization-server.ts',
      'auth/device-sign-in.ts',
      'auth/exchange-identity.ts',
      'auth/renew-tokens.ts',
      'auth/sign-in.ts',
      'auth/token-endpoint.ts',
    ],
  },
  browser: { files: ['auth/open-browser.ts'] },
  'usage-error': { files: ['cli/errors/usage-error.ts', 'cli/errors/unknown-command.ts'] },
  'keychain-call': { files: ['auth/credentials/call-keychain-apart.ts'] },
  // Loaded only in a separate process.
  'keychain-process': { files: ['boot/keychain-process.ts'] },
  'credential-command': { files: ['auth/credentials/credential-command.ts'] },
  talk: { files: ['chat/run-session.ts'] },
  transcript: {
    files: [
      'chat/transcript/check-deliveries.ts',
      'chat/transcript/list-transcripts.ts',
      'chat/transcript/local-messages.ts',
      'chat/transcript/manage-transcripts.ts',
      'chat/transcript/read-transcript.ts',
      'chat/transcript/render-transcript.ts',
    ],
  },
  exchange: { files: ['chat/exchange.ts', 'chat/open-conversation.ts'] },
  doctor: { files: ['commands/doctor/examine.ts', 'view/checks.ts'] },
  bulk: { files: ['users/import-users.ts', 'users/unfinished-imports.ts', 'commands/chat/each.ts'] },
  files: { files: ['commands/chat/attach-files.ts'] },
  // Most of it is ajv, which would otherwise be twice as large.
  structured: {
    files: ['commands/chat/structured/json-schema.ts', 'commands/chat/structured/print-value.ts'],
    minifyIdentifiers: true,
  },
  'qr-code': { files: ['terminal/qr-code.ts'] },
  links: { package: 'supports-hyperlinks' },
  trace: { files: ['client/trace.ts', 'cli/errors/describe-trace.ts'] },
  http: { files: ['system/network/connector.ts'] },
  help: { files: ['cli/help/show-help.ts', 'cli/help/command-page.ts', 'cli/help/topic-pages.ts'] },
  table: { files: ['view/format/table.ts'] },
  export: { files: ['history/export-history.ts'] },
  mirror: {
    files: [
      'history/sync-history.ts',
      'history/search-messages.ts',
      'history/search-query.ts',
      'history/transcript-index.ts',
    ],
  },
  ledger: { files: ['ledger/ledger.ts', 'ledger/ledger-run.ts', 'ledger/rewrite-ledger.ts'] },
  'bulk-send': { files: ['bulk/send/throttle.ts', 'users/send/get-users.ts'] },
  'users-state': {
    files: [
      'users/state/users-state.ts',
      'users/adopt-rows.ts',
      'users/change-state.ts',
      'users/compare-user.ts',
    ],
  },
  'export-html': { files: ['history/html-document.ts'] },
  plan: {
    files: [
      'settings/plan.ts',
      'settings/apply/apply-plan.ts',
      'settings/apply/change-settings.ts',
      'settings/file/read-settings-files.ts',
      'settings/plan-file.ts',
      'settings/settings-history.ts',
      'system/files/saved-plan.ts',
      'system/ssh-signature.ts',
    ],
  },
  reconcile: {
    files: [
      'users/apply/apply-run.ts',
      'users/apply/plan-users.ts',
      'users/apply/users-plan.ts',
      'users/planned-work.ts',
      'users/user-files.ts',
      'users/users-plan-file.ts',
    ],
  },
  'prompt-library': {
    files: [
      'config/prompts/fill-prompt.ts',
      'config/prompts/prompt-file.ts',
      'config/prompts/prompt-library.ts',
    ],
  },
  'settings-file': { files: ['view/settings-file-view.ts'] },
  yaml: { package: 'yaml', exports: `module.exports = require('yaml')` },
  csv: { package: 'csv-stringify/sync' },
  conf: { package: 'conf', exports: `module.exports = require('conf').default` },
  chalk: { package: 'chalk' },
  markdown: { files: ['terminal/markdown/markdown-writer.ts', 'terminal/markdown/code-blocks.ts'] },
  highlight: { files: ['terminal/markdown/line-highlighter.ts'] },
  // Not its editor, which brings every encoding there is.
  prompts: {
    package: '@inquirer/prompts',
    files: ['cli/input/list-prompt.ts'],
    exports: `export { confirm, input, password, select } from '@inquirer/prompts'`,
  },
  // The content of the file comes from the loader (src/boot/load-bundle.ts).
  jq: {
    package: 'jq-wasm',
    exports: `const { zstdDecompressSync } = require('node:zlib')
            const { loadJq } = require('jq-wasm')
            exports.loadJq = () => loadJq({ wasmBinary: zstdDecompressSync(require('./build/jq.wasm.zst')) })`,
  },
}
