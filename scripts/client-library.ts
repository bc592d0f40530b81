import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type BuildOptions, build, type Metafile } from 'esbuild'
import { leanDependencies } from './lean-dependencies.ts'

/** The library: `import { Client } from 'chatctl/client'` (docs/guides/library.md; package.json, "exports"). */

const valueExports = `
export { Client } from './src/client/client.ts'
export { Failure } from './src/contract/failure.ts'
export { idOfCreated } from './src/client/response/response.ts'
`

const typeExports = `
export type { ClientOptions, CredentialSource } from './src/client/client-options.ts'
export type { ApiResponse, RawResponse } from './src/client/response/response.ts'
export type { OutgoingRequest, RawRequest } from './src/client/outgoing-request.ts'
export type { ClientEvent } from './src/client/client-event.ts'
export type { CollectOptions } from './src/client/outgoing-request.ts'
export type { Chat } from './src/client/chat.ts'
export type { History } from './src/client/history/history.ts'
export type { HistoryBatch, HistoryPosition, WalkOptions } from './src/client/history/walk-history.ts'
export type { Settings } from './src/client/settings.ts'
export type { Users } from './src/client/users.ts'
export type { ReplyStream } from './src/client/stream/reply-stream.ts'
export type { StreamEnd, StreamEvent, StreamFormat } from './src/contract/resources/stream-event.ts'
export type { Advice } from './src/contract/advice.ts'
export type { FailedRequest, FailureKind } from './src/contract/failure.ts'
export type { RequestOutcome } from './src/contract/failure.ts'
export type { Fault } from './src/contract/faults.ts'
export type { Choice, Completion, CompletionRequest, Message, ResponseFormat, Usage } from './src/contract/resources/completion.ts'
export type { Model, ModelList } from './src/contract/resources/completion.ts'
export type { HistoryMessage, HistoryPage, HistoryQuery, SendRequest, SendResponse } from './src/contract/resources/conversation.ts'
export type { ApplicationSettings, SettingsPatch } from './src/contract/resources/settings.ts'
export type { ApiConfiguration } from './src/contract/resources/settings.ts'
export type { Preferences } from './src/contract/resources/settings.ts'
export type { Profile, UserSettingsRequest, UserSettingsResponse } from './src/contract/resources/user.ts'
export type { AssignPermissionsRequest, CreateUserRequest, UpdateUserRequest, User } from './src/contract/resources/user.ts'
`

/** Each in a separate file, so that a bundler omits what a program does not import. */
const entryPoints = {
  client: 'src/client/client.ts',
  failure: 'src/contract/failure.ts',
  response: 'src/client/response/response.ts',
}

/**
 * undici loads the modules of Node with `require`, which an ES module does not have. `createRequire` needs the
 * URL of the module, which a bundler for CommonJS removes.
 */
const banner = 'const require = process.getBuiltinModule;'

/**
 * Writes dist/client.js with the files that it imports to dist/client, and dist/client.d.ts with the declarations that
 * it imports to dist/types.
 */
export async function buildClientLibrary(root: string, shared: BuildOptions): Promise<Metafile> {
  const { metafile } = await build({
    ...shared,
    absWorkingDir: root,
    entryPoints,
    outdir: 'dist/client',
    chunkNames: 'shared-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    plugins: [leanDependencies],
    banner: { js: banner },
    metafile: true,
    legalComments: 'none',
    minifySyntax: true,
    minifyWhitespace: true,
    logLevel: 'warning',
  })
  writeFileSync(
    join(root, 'dist/client.js'),
    valueExports.trimStart().replace(/'\.\/src\/.*\/(.*)\.ts'/g, "'./client/$1.js'"),
  )
  writeTypes(root)
  return metafile
}

/**
 * TypeScript writes one declaration file for each source file. The package contains only those that the
 * public names refer to. `stripInternal` removes the schemas, and with them the types of zod.
 */
function writeTypes(root: string): void {
  const emitted = join(root, 'dist/.types')
  mkdirSync(emitted, { recursive: true })
  const configuration = join(emitted, 'tsconfig.json')
  writeFileSync(configuration, JSON.stringify(typesConfiguration))
  execFileSync(
    process.execPath,
    [join(root, 'node_modules/typescript/bin/tsc'), '--project', configuration],
    {
      stdio: ['ignore', 'inherit', 'inherit'],
    },
  )
  const entry = (valueExports + typeExports).trimStart().replaceAll("'./src/", "'./types/")
  writeFileSync(join(root, 'dist/client.d.ts'), asJavaScriptImports(entry))
  const written = new Set<string>()
  const write = (file: string): void => {
    if (written.has(file)) return
    written.add(file)
    const text = readFileSync(join(emitted, file), 'utf8')
    const target = join(root, 'dist/types', file)
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, asJavaScriptImports(text))
    for (const imported of importsOf(text)) write(join(dirname(file), imported))
  }
  for (const imported of importsOf(entry)) write(imported.replace('types/', ''))
  rmSync(emitted, { recursive: true })
}

const typesConfiguration = {
  extends: '../../tsconfig.json',
  compilerOptions: {
    rootDir: '../../src',
    outDir: '.',
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    stripInternal: true,
    // `npm run types` checks the types.
    noCheck: true,
    types: ['node'],
  },
  files: ['../../src/client/client.ts'],
  include: [],
}

/** The relative paths of the declaration files that a text imports. */
function importsOf(text: string): string[] {
  return [...text.matchAll(/from '\.\/([^']+)\.ts'|from '(\.\.\/[^']+)\.ts'/g)].map(
    ([, below, above]) => `${below ?? above}.d.ts`,
  )
}

/** In every module resolution mode, TypeScript resolves `./user.js` to `./user.d.ts`. */
function asJavaScriptImports(text: string): string {
  return text.replaceAll(/(from '\.[^']+)\.ts'/g, "$1.js'")
}
