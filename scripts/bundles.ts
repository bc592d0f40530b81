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
export const lazyBundles: Readonly<Record<string, { entry: string; asked: RegExp; keepNames?: boolean }>> = {
  service: {
    entry: `export * from './src/service/start-service.ts'
            export * from './src/service/open-embedded-service.ts'
            export * from './src/service/administration/administration.ts'
            ${kyselyForPostgres}`,
    asked: /\/service\/(start-service|open-embedded-service|administration\/administration)\.ts$/,
  },
  'http-server': {
    entry: `export * from './src/service/http/create-server.ts'
            export * from './src/service/http/admin-server.ts'
            export * from './src/service/http/create-logger.ts'`,
    asked: /\/http\/(create-server|admin-server|create-logger)\.ts$/,
  },
  oauth: {
    entry: `export * from './src/service/oauth/open-oauth.ts'`,
    asked: /\/oauth\/open-oauth\.ts$/,
    // oidc-provider stores its records by the names of its classes.
    keepNames: true,
  },
  'local-service': {
    entry: `export * from './src/service/find-joinable-service.ts'
            export * from './src/service/upstream/detect-model-servers.ts'`,
    asked: /\/(find-joinable-service|detect-model-servers)\.ts$/,
  },
  upstream: {
    entry: `export * from './src/service/upstream/openai-compatible.ts'
            export * from './src/service/upstream/count-models.ts'`,
    asked: /\/upstream\/(openai-compatible|count-models)\.ts$/,
  },
  metrics: {
    entry: `export * from './src/service/metrics/create-metrics.ts'`,
    asked: /\/metrics\/create-metrics\.ts$/,
  },
  postgres: {
    entry: `export * from './src/service/store/postgres/open-postgres.ts'`,
    asked: /\/postgres\/open-postgres\.ts$/,
  },
  auth: {
    entry: `export * from './src/auth/authorization-server.ts'
            export * from './src/auth/device-sign-in.ts'
            export * from './src/auth/exchange-identity.ts'
            export * from './src/auth/renew-tokens.ts'
            export * from './src/auth/sign-in.ts'
            export * from './src/auth/token-endpoint.ts'`,
    asked:
      /\/auth\/(authorization-server|device-sign-in|exchange-identity|renew-tokens|sign-in|token-endpoint)\.ts$/,
  },
  profiles: {
    entry: `export * from './src/cli/sign-in/rename-profile.ts'
            export * from './src/cli/sign-in/remove-profile.ts'`,
    asked: /\/sign-in\/(rename|remove)-profile\.ts$/,
  },
  browser: { entry: `export * from './src/auth/open-browser.ts'`, asked: /\/auth\/open-browser\.ts$/ },
  'usage-error': {
    entry: `export * from './src/cli/usage-error.ts'
            export * from './src/cli/unknown-command/unknown-command.ts'`,
    asked: /\/(usage-error|unknown-command)\.ts$/,
  },
  'keychain-call': {
    entry: `export * from './src/credentials/call-keychain-apart.ts'`,
    asked: /\/call-keychain-apart\.ts$/,
  },
  // Loaded only in a separate process.
  'keychain-process': { entry: `import './src/boot/keychain-process.ts'`, asked: /\/keychain-process\.ts$/ },
  'credential-command': {
    entry: `export * from './src/credentials/run-credential-command.ts'`,
    asked: /\/run-credential-command\.ts$/,
  },
  talk: {
    entry: `export * from './src/talk/run-session.ts'`,
    asked: /\/talk\/run-session\.ts$/,
  },
  transcript: {
    entry: `export * from './src/talk/transcript/find-transcript.ts'
            export * from './src/talk/find-last-conversation.ts'
            export * from './src/talk/transcript/delete-transcripts.ts'
            export * from './src/talk/transcript/list-transcripts.ts'
            export * from './src/talk/transcript/reassign-transcripts.ts'
            export * from './src/talk/transcript/rename-transcript.ts'
            export * from './src/talk/transcript/render-transcript.ts'
            export * from './src/talk/transcript/transcript-messages.ts'
            export * from './src/talk/transcript/read-transcript.ts'`,
    asked:
      /\/(find-last-conversation|find-transcript|(delete|list|reassign)-transcripts|(read|rename|render)-transcript|transcript-messages)\.ts$/,
  },
  exchange: {
    entry: `export * from './src/talk/exchange/open-exchange.ts'`,
    asked: /\/open-exchange\.ts$/,
  },
  doctor: {
    entry: `export * from './src/cli/doctor/examine.ts'
            export * from './src/client/probe-network.ts'
            export * from './src/bulk/journal/unfinished-imports.ts'
            export * from './src/view/checks.ts'`,
    asked: /\/(doctor\/examine|probe-network|unfinished-imports|view\/checks)\.ts$/,
  },
  bulk: { entry: `export * from './src/bulk/import-rows.ts'`, asked: /\/bulk\/import-rows\.ts$/ },
  files: { entry: `export * from './src/cli/chat/attach-files.ts'`, asked: /\/chat\/attach-files\.ts$/ },
  'qr-code': { entry: `export * from './src/terminal/qr-code.ts'`, asked: /\/qr-code\.ts$/ },
  links: { entry: `export * from 'supports-hyperlinks'`, asked: /^supports-hyperlinks$/ },
  trace: {
    entry: `export * from './src/client/trace.ts'
            export * from './src/cli/describe-trace.ts'`,
    asked: /\/(client\/trace|describe-trace)\.ts$/,
  },
  http: {
    entry: `export * from './src/client/pool.ts'
            export * from './src/system/undici.ts'`,
    asked: /^\.\/pool\.ts$|\/system\/undici\.ts$/,
  },
  help: {
    entry: `export * from './src/cli/help/show-help.ts'`,
    asked: /\/help\/show-help\.ts$/,
  },
  table: { entry: `export * from './src/view/table.ts'`, asked: /\/view\/table\.ts$/ },
  export: { entry: `export * from './src/export/export-history.ts'`, asked: /\/export\/export-history\.ts$/ },
  mirror: {
    entry: `export * from './src/mirror/sync-history.ts'
            export * from './src/mirror/search-messages.ts'
            export * from './src/mirror/reassign-mirrors.ts'
            export * from './src/mirror/transcript-index.ts'`,
    asked: /\/mirror\/(sync-history|search-messages|reassign-mirrors|transcript-index)\.ts$/,
  },
  'change-recorder': {
    entry: `export * from './src/activity/change-recorder.ts'`,
    asked: /\/change-recorder\.ts$/,
  },
  activity: {
    entry: `export * from './src/activity/read-activity.ts'`,
    asked: /\/read-activity\.ts$/,
  },
  'bulk-send': {
    entry: `export * from './src/bulk/send/throttle.ts'
            export * from './src/bulk/send/estimate.ts'
            export * from './src/bulk/send/get-users.ts'`,
    asked: /\/send\/(throttle|estimate|get-users)\.ts$/,
  },
  'users-state': {
    entry: `export * from './src/reconcile/state/users-state.ts'
            export * from './src/reconcile/state/state-path.ts'
            export * from './src/reconcile/adopt-users.ts'
            export * from './src/reconcile/adopt-rows.ts'
            export * from './src/reconcile/id-of-email.ts'`,
    asked: /\/(state\/users-state|state\/state-path|adopt-users|adopt-rows|id-of-email)\.ts$/,
  },
  'export-html': { entry: `export * from './src/export/html-document.ts'`, asked: /\/html-document\.ts$/ },
  plan: {
    entry: [
      'leaves',
      'part',
      'plan',
      'apply/apply-plan',
      'apply/confirm-and-apply',
      'apply/change-failures',
      'apply/sent-configuration',
      'apply/settings-lock',
      'apply/verify-settings',
      'file/read-settings-files',
      'plan-file',
    ]
      .map((name) => `export * from './src/plan/${name}.ts'`)
      .join('\n'),
    asked: /\/plan\/(\w+\/)?[\w-]+\.ts$/,
  },
  reconcile: {
    entry: [
      'apply/apply-run',
      'diff-users',
      'print-differences',
      'user-files',
      'save-users-plan',
      'users-plan-file',
    ]
      .map((name) => `export * from './src/reconcile/${name}.ts'`)
      .join('\n'),
    asked:
      /\/reconcile\/(apply\/apply-run|diff-users|print-differences|(save-)?users-plan(-file)?|user-files)\.ts$/,
  },
  'prompt-library': {
    entry: `export * from './src/config/prompts/fill-prompt.ts'
            export * from './src/config/prompts/prompt-file.ts'
            export * from './src/config/prompts/prompt-library.ts'`,
    asked: /\/prompts\/(fill-prompt|prompt-file|prompt-library)\.ts$/,
  },
  'settings-file': {
    entry: `export * from './src/view/settings-file-view.ts'`,
    asked: /\/view\/settings-file-view\.ts$/,
  },
  yaml: { entry: `module.exports = require('yaml')`, asked: /^yaml$/ },
  csv: { entry: `export * from 'csv-stringify/sync'`, asked: /^csv-stringify\/sync$/ },
  conf: { entry: `module.exports = require('conf').default`, asked: /^conf$/ },
  chalk: { entry: `export * from 'chalk'`, asked: /^chalk$/ },
  markdown: {
    entry: `export * from './src/terminal/markdown/markdown-writer.ts'
            export * from './src/terminal/markdown/code-blocks.ts'`,
    asked: /\/markdown\/(markdown-writer|code-blocks)\.ts$/,
  },
  highlight: {
    entry: `export * from './src/terminal/markdown/line-highlighter.ts'`,
    asked: /\/line-highlighter\.ts$/,
  },
  // Not its editor, which brings every encoding there is.
  prompts: {
    entry: `export { confirm, input, password, search, select } from '@inquirer/prompts'`,
    asked: /^@inquirer\/prompts$/,
  },
  // The content of the file comes from the loader (src/boot/load-bundle.ts).
  jq: {
    entry: `const { zstdDecompressSync } = require('node:zlib')
            const { loadJq } = require('jq-wasm')
            exports.loadJq = () => loadJq({ wasmBinary: zstdDecompressSync(require('./build/jq.wasm.zst')) })`,
    asked: /^jq-wasm$/,
  },
}
