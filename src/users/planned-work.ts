import { expandPath } from '../client/network/address.ts'
import { endpoints } from '../contract/endpoints.ts'
import type { CheckedInput } from './input/check-input.ts'
import type { Input } from './input/input.ts'
import { readRows } from './input/read-rows.ts'
import { isUnresolved, type RowStates, remainingSteps } from './journal/row-states.ts'
import type { ImportedUser, RowKind, Step } from './rows/imported-user.ts'
import { bodyOf, canResolve } from './send/send-row.ts'
import type { UnknownRowResolutions } from './unknown-row-resolutions.ts'

/** The requests that a run will send. */
export interface PlannedWork {
  rows: number
  /** Rows that earlier runs have created or updated. */
  done: number
  /** Rows whose outcome is unknown. Nothing is sent for them. */
  unknown: number
  /** Numbers of requests by their kind. */
  steps: Record<Step, number>
  requests: number
}

/** What is known about the rows before a run. */
interface Known {
  checked: CheckedInput
  states: RowStates
  resolutions: UnknownRowResolutions
}

/** Counts the remaining requests. Reads the input only if an earlier run has sent some of it. */
export async function planWork(input: Input, kind: RowKind, known: Known): Promise<PlannedWork> {
  const { rows, steps: all } = known.checked
  const counted = { rows, done: 0, unknown: 0, steps: { create: 0, update: 0, assign: 0 } }
  if (known.states.isUntouched) counted.steps = { ...all }
  else {
    for await (const { remaining } of readWork(input, kind, known)) {
      if (!remaining) counted.unknown++
      else if (remaining.length === 0) counted.done++
      else for (const step of remaining) counted.steps[step]++
    }
  }
  const { create, update, assign } = counted.steps
  return { ...counted, requests: create + update + assign }
}

/** A request that a run will send. */
export interface PlannedRequest {
  /** The file of its row, if there may be several. */
  file?: string | undefined
  /** The line of its row. */
  line: number | undefined
  method: string
  /** Contains `{id}` if no response with the ID of the user is known. */
  path: string
  body: object
  /** Whether a password will be generated. It is not in `body`. */
  generatesPassword: boolean
}

/** The first requests, of which a user wants to see some. Reads only the rows that it needs. */
export async function findFirstRequests(
  input: Input,
  kind: RowKind,
  { generatesPasswords, limit, ...known }: Known & { generatesPasswords: boolean; limit: number },
): Promise<PlannedRequest[]> {
  const found: PlannedRequest[] = []
  for await (const { line, row, remaining = [], id } of readWork(input, kind, known)) {
    for (const step of remaining) {
      const { method, path } = endpoints[endpointOf[step]]
      found.push({
        line,
        method,
        path: id === undefined ? path : expandPath(path, { id }),
        body: bodyOf[step](row),
        generatesPassword: generatesPasswords && step === 'create' && row.password === undefined,
      })
      if (found.length === limit) return found
    }
  }
  return found
}

const endpointOf = { create: 'createUser', update: 'updateUser', assign: 'assignPermissions' } as const

interface RowWork {
  line: number
  row: ImportedUser
  /** Undefined if the outcome of an earlier request is unknown, so that nothing is sent. */
  remaining: readonly Step[] | undefined
  /** Of the user, if the row or the resolution names it. */
  id: string | undefined
}

/** The rows without faults that are not skipped. */
async function* readWork(
  input: Input,
  kind: RowKind,
  { checked, states, resolutions }: Known,
): AsyncGenerator<RowWork> {
  for await (const batch of readRows(input, kind)) {
    for (const read of batch) {
      const { index, line, row } = read
      if (!row || checked.faulty.has(index)) continue
      const state = states.of(index)
      const resolution = isUnresolved(state) ? resolutions.of(read) : undefined
      if (isUnresolved(state) && !canResolve(resolution, state)) {
        yield { line, row, remaining: undefined, id: undefined }
        continue
      }
      if (resolution?.as === 'skip') continue
      const steps = remainingSteps(row, state)
      const isCreated = resolution?.as === 'created'
      yield {
        line,
        row,
        remaining: isCreated ? steps.slice(1) : steps,
        id: isCreated ? resolution.id : row.id,
      }
    }
  }
}
