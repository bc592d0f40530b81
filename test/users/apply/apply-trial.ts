import { copyFileSync, existsSync, mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { Throttle } from '../../../src/bulk/send/throttle.ts'
import { Failure } from '../../../src/contract/failure.ts'
import type { User } from '../../../src/contract/resources/user.ts'
import { applyUsers } from '../../../src/users/apply/apply-run.ts'
import type { UserOutcome } from '../../../src/users/apply/user-outcome.ts'
import type { PlannedUser } from '../../../src/users/apply/users-plan.ts'
import { compareUser, type UserReading } from '../../../src/users/compare-user.ts'
import type { WantedUser } from '../../../src/users/managed-fields.ts'
import { CreatedIds } from '../../../src/users/send/created-ids.ts'
import type { StateEntry } from '../../../src/users/state/state-entry.ts'
import { UsersState } from '../../../src/users/state/users-state.ts'
import { hurriedClock } from '../../client/capture.ts'
import { ScriptedUsers } from './scripted-users.ts'

const service = 'https://chat.example/'
const name = 'users.state.json'
const { signal } = new AbortController()

/** The process was killed. */
class Killed extends Error {}

export interface RunOptions {
  /** Kills the process after so many writes to the state. */
  killAfter?: number
  /** Which users without a known id are created again. */
  retries?: (email: string) => boolean
  /** Called between the plan and its application. */
  between?: () => void
  /** Whether users are read before they are compared. */
  refresh?: boolean
  concurrency?: number
  signal?: AbortSignal
}

/** Runs of one set of files against one service. Each run opens the state as a new process does. */
export class ApplyTrial {
  readonly service: ScriptedUsers
  readonly clock = hurriedClock()
  readonly #parent: string
  #directory: string

  constructor(parent: string, random: () => number) {
    this.#parent = parent
    this.#directory = mkdtempSync(join(parent, 'run-'))
    this.service = new ScriptedUsers(random)
  }

  openState(access: 'read' | 'write' = 'write'): Promise<UsersState> {
    return UsersState.open(join(this.#directory, name), { service, access })
  }

  async entries(): Promise<StateEntry[]> {
    const state = await this.openState('read')
    const entries = [...state.entries()]
    await state.close()
    return entries
  }

  /** Compares and applies. @returns the outcomes, and what ended the run */
  async run(wanted: readonly WantedUser[], options: RunOptions = {}) {
    const { killAfter, between, concurrency = 4 } = options
    const state = await this.openState()
    try {
      const planned = this.#plan(wanted, state, options)
      between?.()
      const outcomes: UserOutcome[] = []
      const kill = new Kill(killAfter, () => this.#keepFiles())
      const ended = await applyUsers(planned, {
        users: this.service,
        state: kill.around(state),
        known: state,
        ids: new CreatedIds(true),
        throttle: new Throttle({ clock: this.clock, maxWait: Number.POSITIVE_INFINITY, signal }),
        clock: this.clock,
        signal: options.signal ?? signal,
        concurrency,
        passwordOf: async (email) => `password of ${email}`,
        beforeChange: async () => {},
        onOutcome: (_, outcome) => outcomes.push(outcome),
      })
      return { planned, outcomes, ended }
    } finally {
      await state.close()
      this.#useKept()
    }
  }

  #plan(wanted: readonly WantedUser[], state: UsersState, { retries, refresh = true }: RunOptions) {
    return wanted.flatMap((user): PlannedUser[] => {
      const entry = state.find(user.email)
      const difference = compareUser(user, entry, refresh ? this.#read(entry?.id) : 'unread')
      const { action, email } = difference
      if (action === 'create' || action === 'change')
        return [{ wanted: user, difference, ...(entry && { hashes: entry.hashes }) }]
      if (action !== 'unknown' || entry?.creation !== 'unknown' || !retries?.(email)) return []
      return [{ wanted: user, difference: { ...compareUser(user, undefined, 'unread'), action } }]
    })
  }

  #read(id: string | undefined): UserReading {
    const user = id === undefined ? undefined : this.service.users.get(id)
    return user ? { user: structuredClone(user) as unknown as User } : 'missing'
  }

  #kept: string | undefined

  /** Copies the files as a killed process leaves them. */
  #keepFiles(): void {
    this.#kept = mkdtempSync(join(this.#parent, 'run-'))
    for (const file of [name, `${name}.journal`]) {
      const path = join(this.#directory, file)
      if (existsSync(path)) copyFileSync(path, join(this.#kept, file))
    }
  }

  #useKept(): void {
    this.#directory = this.#kept ?? this.#directory
    this.#kept = undefined
  }
}

/** After a number of writes to the state, no write succeeds any more. */
class Kill {
  #left: number
  readonly #onKill: () => void

  constructor(after = Number.POSITIVE_INFINITY, onKill: () => void) {
    this.#left = after
    this.#onKill = onKill
  }

  around(state: UsersState): Pick<UsersState, 'find' | 'findById' | 'record' | 'note' | 'remove'> {
    return {
      find: (email) => state.find(email),
      findById: (id) => state.findById(id),
      record: async (entry) => {
        let recorded: Promise<void> | undefined
        this.#write(() => {
          recorded = state.record(entry)
        })
        await recorded
        if (this.#left < 0) throw new Killed()
      },
      note: (entry) => this.#write(() => state.note(entry)),
      remove: (email) => this.#write(() => state.remove(email)),
    }
  }

  #write(write: () => void): void {
    if (this.#left < 0) throw new Killed()
    write()
    if (this.#left-- > 0) return
    this.#onKill()
    throw new Killed()
  }
}

/** Whether a run was ended by a failure rather than by a bug. */
export function isExpectedEnd(ended: unknown): boolean {
  return ended === undefined || ended instanceof Failure || ended instanceof Killed
}
