import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { UsersHandler, type UsersOptions } from '../support/handlers/users.ts'
import { forward, perTest } from '../support/lifetime.ts'
import { type HostOptions, type Run, runChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import { type ScriptedServer, type Served, serveHandler } from '../support/scripted-server.ts'

type Row = Record<string, string>

/** Call it inside a describe. Each test gets a home directory in which `chatctl` runs against the service. */
export function runAgainst(server: ScriptedServer) {
  const sandbox = perTest(createSandbox)
  const path = (name: string) => join(sandbox.home, name)
  const read = (name: string) => readFileSync(path(name), 'utf8')
  const chatctl = (words: readonly string[], options: HostOptions = {}): Promise<Run> =>
    runChatctl(sandbox, words, { service: server, timeout: 50_000, ...options })
  return {
    sandbox,
    path,
    read,
    chatctl,
    users: (...words: string[]) => chatctl(['users', ...words]),
    /** Writes a file in the home directory. @returns its path */
    write(name: string, text: string): string {
      mkdirSync(dirname(path(name)), { recursive: true })
      writeFileSync(path(name), text)
      return path(name)
    },
    /** The rows of a CSV file. */
    rows: (name = 'results.csv'): Row[] => parse(read(name), { columns: true, bom: true }),
    /** The users of a state file. */
    entries: (name = 'users.state.json'): { email: string; id?: string; hashes: Row }[] =>
      JSON.parse(read(name)).users,
    /** The requests so far that are no GET, such as `PATCH /v1/users/usr_1`. */
    changes: () =>
      server.requests.flatMap((request) =>
        request.method === 'GET' ? [] : [`${request.method} ${request.path}`],
      ),
  }
}

/** Call it inside a describe. As `runAgainst`, with a service that keeps users. */
export function serveUsers(
  options: UsersOptions = {},
  make = (given: UsersOptions) => new UsersHandler(given),
) {
  const current = perTest(
    async (): Promise<{ server: Served<UsersHandler> }> => ({ server: await serveHandler(make(options)) }),
    ({ server }) => server.close(),
  )
  const server = forward(() => current.server)
  return {
    server,
    ...runAgainst(server),
    /** Replaces the service by one that also has these options. */
    async serve(more: UsersOptions): Promise<void> {
      await current.server.close()
      current.server = await serveHandler(make({ ...options, ...more }))
    },
    /** The ID of the user that was last created with this email. */
    idOf: (email = 'ada@example.com') => server.report().creates.get(email)?.ids.at(-1) ?? '',
  }
}

/** What a run has printed with `--json`. */
export function printedBy({ stdout, stderr }: Run) {
  return JSON.parse(stdout || JSON.stringify({ stderr }))
}
