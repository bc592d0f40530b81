import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { allEntries } from '../../src/ledger/ledger.ts'
import { Directories } from '../../src/system/files/directories.ts'
import type { Sandbox } from './sandbox.ts'

export function stateOf({ env }: Sandbox): string {
  return new Directories(env).state
}

/** The changes in the ledgers of a sandbox, oldest first. Fails if a line cannot be read. */
export function recordedIn({ env }: Sandbox) {
  const fail = (): never => {
    throw new Error('a line of the ledger cannot be read')
  }
  return [...allEntries(new Directories(env), fail)]
    .reverse()
    .map(({ sent: _, position: __, profile = null, ...entry }) => ({ ...entry, profile }))
}

export function ledgersOf(sandbox: Sandbox): string[] {
  const directory = join(stateOf(sandbox), 'ledger')
  const names = readdirSync(directory).filter((name) => name.endsWith('.jsonl'))
  return names.map((name) => join(directory, name))
}

/** The text of the only ledger. */
export function recordOf(sandbox: Sandbox): string {
  const [path = ''] = ledgersOf(sandbox)
  return readFileSync(path, 'utf8')
}
