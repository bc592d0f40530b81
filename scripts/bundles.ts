interface LazyBundle {
  /** Paths below src. The bundle exports what they export. Every other bundle loads them from it. */
  files?: readonly string[]
  /** The package that every other bundle loads from this one. */
  package?: string
  /** Code that exports the rest, or the package if not all of it. */
  exports?: string
  keepNames?: boolean
}

/** The bundle of the service contains Kysely. That of PostgreSQL, which only the service loads, uses it. */
const kyselyForPostgres = `export {
  CompiledQuery, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler,
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
  'local-service': {
    files: ['service/find-joinable-service.ts', 'service/upstream/detect-model-servers.ts'],
  },
  upstream: { files: ['service/upstream/openai-compatible.ts', 'service/upstream/count-models.ts'] },
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
  profiles: { files: ['cli/sign-in/rename-profile.ts', 'cli/sign-in/remove-profile.ts'] },
  browser: { files: ['auth/open-browser.ts'] },
  'usage-error': { files: ['cli/usage-error.ts', 'cli/unknown-command/unknown-command.ts'] },
  'keychain-call': { files: ['credentials/call-keychain-apart.ts'] },
  // Loaded only in a separate process.
  'keychain-process': { files: ['boot/keychain-process.ts'] },
  'credential-command': { files: ['credentials/credential-command.ts'] },
  talk: { files: ['talk/run-session.ts'] },
  transcript: {
    files: [
      'talk/transcript/find-transcript.ts',
      'talk/find-last-conversation.ts',
      'talk/transcript/delete-transcripts.ts',
      'talk/transcript/list-transcripts.ts',
      'talk/transcript/reassign-transcripts.ts',
      'talk/transcript/rename-transcript.ts',
      'talk/transcript/render-transcript.ts',
      'talk/transcript/transcript-messages.ts',
      'talk/transcript/read-transcript.ts',
    ],
  },
  exchange: { files: ['talk/exchange/open-exchange.ts'] },
  doctor: {
    files: [
      'cli/doctor/examine.ts',
      'client/probe-network.ts',
      'bulk/journal/unfinished-imports.ts',
      'view/checks.ts',
    ],
  },
  bulk: { files: ['bulk/import-rows.ts'] },
  files: { files: ['cli/chat/attach-files.ts'] },
  'qr-code': { files: ['terminal/qr-code.ts'] },
  links: { package: 'supports-hyperlinks' },
  trace: { files: ['client/trace.ts', 'cli/describe-trace.ts'] },
  http: { files: ['client/pool.ts', 'system/undici.ts'] },
  help: { files: ['cli/help/show-help.ts'] },
  table: { files: ['view/table.ts'] },
  export: { files: ['export/export-history.ts'] },
  mirror: {
    files: [
      'mirror/sync-history.ts',
      'mirror/search-messages.ts',
      'mirror/reassign-mirrors.ts',
      'mirror/transcript-index.ts',
    ],
  },
  'change-recorder': { files: ['activity/change-recorder.ts'] },
  activity: { files: ['activity/read-activity.ts'] },
  'bulk-send': { files: ['bulk/send/throttle.ts', 'bulk/send/estimate.ts', 'bulk/send/get-users.ts'] },
  'users-state': {
    files: [
      'reconcile/state/users-state.ts',
      'reconcile/state/state-path.ts',
      'reconcile/adopt-users.ts',
      'reconcile/adopt-rows.ts',
      'reconcile/change-state.ts',
      'reconcile/compare-user.ts',
    ],
  },
  'export-html': { files: ['export/html-document.ts'] },
  plan: {
    files: [
      'plan/leaves.ts',
      'plan/part.ts',
      'plan/plan.ts',
      'plan/apply/apply-plan.ts',
      'plan/apply/confirm-and-apply.ts',
      'plan/apply/change-failures.ts',
      'plan/apply/sent-configuration.ts',
      'plan/apply/settings-lock.ts',
      'plan/apply/verify-settings.ts',
      'plan/file/read-settings-files.ts',
      'plan/plan-file.ts',
    ],
  },
  reconcile: {
    files: [
      'reconcile/apply/apply-run.ts',
      'reconcile/apply/plan-users.ts',
      'reconcile/apply/planned-user.ts',
      'reconcile/apply/users-plan.ts',
      'reconcile/user-files.ts',
      'reconcile/users-plan-file.ts',
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
    exports: `export { confirm, input, password, search, select } from '@inquirer/prompts'`,
  },
  // The content of the file comes from the loader (src/boot/load-bundle.ts).
  jq: {
    package: 'jq-wasm',
    exports: `const { zstdDecompressSync } = require('node:zlib')
            const { loadJq } = require('jq-wasm')
            exports.loadJq = () => loadJq({ wasmBinary: zstdDecompressSync(require('./build/jq.wasm.zst')) })`,
  },
}
