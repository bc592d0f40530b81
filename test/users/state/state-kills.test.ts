import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as endOfTurn } from 'node:timers/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import type { StateEntry } from '../../../src/users/state/state-entry.ts'
import { UsersState } from '../../../src/users/state/users-state.ts'
import { makeEmptyDirectory } from '../../support/empty-directory.ts'
import { perTest } from '../../support/lifetime.ts'
import { stateEntry } from './arbitrary-entries.ts'

const directory = perTest(makeEmptyDirectory)

type Change = StateEntry | { removed: string }

/** The changes of one process. `killedAt`: how many thousandths of its lines are on disk. */
const processes = fc.array(
  fc.record({
    changes: fc.array(
      fc.oneof(
        { weight: 4, arbitrary: stateEntry },
        { weight: 1, arbitrary: stateEntry.map(({ email }) => ({ removed: email })) },
      ),
      { maxLength: 12 },
    ),
    killedAt: fc.option(fc.integer({ min: 0, max: 1000 }), { nil: undefined }),
  }),
  { maxLength: 5 },
)

/** What a state does, as simply as possible. */
function applyTo(model: Map<string, StateEntry>, change: Change): void {
  if ('removed' in change) {
    model.delete(change.removed.toLowerCase())
    return
  }
  for (const [key, { id }] of model) if (id !== undefined && id === change.id) model.delete(key)
  model.set(change.email.toLowerCase(), change)
}

const contentOf = (path: string): Buffer | undefined => (existsSync(path) ? readFileSync(path) : undefined)

function restore(path: string, content: Buffer | undefined): void {
  if (content === undefined) rmSync(path, { force: true })
  else writeFileSync(path, content)
}

describe('the state of users after processes that were killed', () => {
  it('has every change whose line was complete', async () => {
    await fc.assert(
      fc.asyncProperty(processes, async (runs) => {
        const path = join(directory.path, 'users.state.json')
        const journal = `${path}.journal`
        for (const file of [path, journal, `${path}.backup`]) rmSync(file, { force: true })
        const model = new Map<string, StateEntry>()
        const open = (access: 'read' | 'write') =>
          UsersState.open(path, { service: 'https://chat.example/', access })
        for (const { changes, killedAt } of runs) {
          const before = contentOf(path)
          const state = await open('write')
          const kept = statSync(journal, { throwIfNoEntry: false })?.size ?? 0
          const ends: number[] = []
          for (const change of changes) {
            if ('removed' in change) state.remove(change.removed)
            else state.note(change)
            // The lines of one turn are one write.
            await endOfTurn()
            ends.push(statSync(journal, { throwIfNoEntry: false })?.size ?? 0)
          }
          const lines = contentOf(journal)
          await state.close()
          if (killedAt === undefined || lines === undefined) {
            for (const change of changes) applyTo(model, change)
          } else {
            const cut = kept + Math.floor(((lines.length - kept) * killedAt) / 1000)
            changes.forEach((change, index) => {
              if ((ends[index] ?? 0) <= cut) applyTo(model, change)
            })
            restore(path, before)
            writeFileSync(journal, lines.subarray(0, cut))
          }
          const reader = await open('read')
          const found = [...reader.entries()]
          await reader.close()
          const expected = [...model.entries()].sort(([one], [other]) =>
            Buffer.compare(Buffer.from(one), Buffer.from(other)),
          )
          expect(found).to.deep.equal(
            expected.map(([, { id, ...entry }]) => ({ ...entry, ...(id !== undefined && { id }) })),
          )
        }
      }),
      { numRuns: 0.4 * (fc.readConfigureGlobal().numRuns ?? 100) },
    )
  })
})
