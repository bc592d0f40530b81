import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ActivityEntry, readActivity } from '../../src/activity/read-activity.ts'
import { Directories } from '../../src/system/files/directories.ts'
import type { Sandbox } from './sandbox.ts'

/** The state directory of a sandbox. */
export function stateOf({ env }: Sandbox): string {
  return new Directories(env).state
}

/** The changes in the record of a sandbox, oldest first. Fails if a line cannot be read. */
export function recordedIn(sandbox: Sandbox): ActivityEntry[] {
  const fail = (): never => {
    throw new Error('a line of the record cannot be read')
  }
  return [...readActivity(stateOf(sandbox), fail)].reverse()
}

/** The text of the current file of the record. */
export function recordOf(sandbox: Sandbox): string {
  return readFileSync(join(stateOf(sandbox), 'activity.jsonl'), 'utf8')
}
