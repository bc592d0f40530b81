import { createHash, type Hash } from 'node:crypto'
import * as z from 'zod/mini'
import type { Input } from '../bulk/input/input.ts'
import { TextLines } from '../bulk/input/text-lines.ts'
import { parseJson } from '../contract/exact-json.ts'
import { Failure } from '../contract/failure.ts'
import { checkShape } from '../contract/faults.ts'
import { changedPlan, planOfOtherService, planOfOtherVersion } from '../contract/saved-plan.ts'
import type { UserCounts } from '../view/user-differences.ts'
import type { PlannedUser } from './apply/planned-user.ts'
import type { UsersPlan } from './apply/users-plan.ts'
import { userOf } from './managed-fields.ts'
import type { UsersState } from './state/users-state.ts'

/** Where a saved plan comes from. */
export interface UsersPlanHeader {
  id: string
  /** ISO 8601, UTC. */
  createdAt: string
  /** The version of chatctl that made it. */
  tool: string
  service: string
  /** The name of the state file, and its generation before the comparison. */
  state: string
  serial: number
}

/** A saved plan of users. */
export interface UsersPlanFile extends Omit<UsersPlan, 'planned'> {
  header: UsersPlanHeader
}

export const usersPlanFormat = 'chatctl-users-plan'
const newPlan = { code: 'save_users_plan' } as const

export const usersPlanBeginning = `{"format":"${usersPlanFormat}"`

const header = z.strictObject({
  format: z.literal(usersPlanFormat),
  v: z.literal(1),
  // It becomes a file name.
  id: z.string().check(z.regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)),
  created_at: z.string(),
  tool: z.string(),
  service: z.string(),
  state: z.string(),
  serial: z.int(),
})

const id = z.optional(z.string())
const field = z.strictObject({
  path: z.string(),
  from: z.optional(z.unknown()),
  basis: z.enum(['service', 'last_sent', 'unknown']),
  drifted: z.boolean(),
  /** The hash of what was last sent. */
  sent: z.optional(z.string()),
})
const planned = z.strictObject({
  email: z.string(),
  id,
  action: z.enum(['create', 'change', 'adopt', 'missing', 'unknown', 'failed']),
  /** The managed fields of the user, by path. */
  wanted: z.record(z.string(), z.unknown()),
  /** Those that differ. */
  fields: z.array(field),
  file: z.optional(z.string()),
  line: z.optional(z.int()),
  error: z.optional(z.strictObject({ code: z.string(), message: z.string() })),
})
const unmanaged = z.strictObject({ unmanaged: z.strictObject({ email: z.string(), id }) })
const counts: z.ZodMiniType<UserCounts> = z.strictObject({
  create: z.int(),
  change: z.int(),
  adopt: z.int(),
  unchanged: z.int(),
  drifted: z.int(),
  missing: z.int(),
  unknown: z.int(),
  failed: z.int(),
  unread: z.int(),
  unmanaged: z.int(),
})
const trailer = z.strictObject({ counts, checksum: z.string() })

/** Whether a text is the beginning of a plan of users, rather than of a file of users. */
export function isUsersPlan(text: string): boolean {
  return text.startsWith(usersPlanBeginning)
}

/**
 * Reads a plan line by line.
 *
 * @throws Failure `refused` if the file was changed or truncated; `conflict` if its format is another version
 */
export async function readUsersPlan(
  input: Pick<Input, 'name' | 'read'>,
  toolVersion: string,
): Promise<UsersPlanFile> {
  const reader = new UsersPlanReader(input.name, toolVersion)
  const lines = new TextLines(input.name)
  const decoder = new TextDecoder()
  for await (const chunk of input.read()) {
    for (const { text } of lines.take(decoder.decode(chunk, { stream: true }), false)) reader.take(text)
  }
  for (const { text } of lines.take(decoder.decode(), true)) reader.take(text)
  return reader.finish()
}

class UsersPlanReader {
  readonly #name: string
  readonly #toolVersion: string
  readonly #hash: Hash = createHash('sha256')
  readonly #users: PlannedUser[] = []
  readonly #unmanaged: { email: string; id: string | undefined }[] = []
  #header: UsersPlanHeader | undefined
  #counts: UserCounts | undefined

  constructor(name: string, toolVersion: string) {
    this.#name = name
    this.#toolVersion = toolVersion
  }

  take(text: string): void {
    const value = this.#parse(text)
    if (this.#counts) throw this.#changed()
    const end = checkShape(trailer, value)
    if (end.success) {
      if (end.data.checksum !== this.#hash.digest('hex')) throw this.#changed()
      this.#counts = end.data.counts
      return
    }
    this.#hash.update(`${text}\n`)
    if (!this.#header) this.#header = this.#readHeader(value)
    else this.#readUser(value)
  }

  finish(): UsersPlanFile {
    if (!this.#header || !this.#counts) throw this.#changed()
    const { create, change, adopt, missing, unknown, failed, unmanaged } = this.#counts
    const isWhole =
      create + change + adopt + missing + unknown + failed === this.#users.length &&
      unmanaged === this.#unmanaged.length
    if (!isWhole) throw this.#changed()
    return { header: this.#header, users: this.#users, unmanaged: this.#unmanaged, counts: this.#counts }
  }

  #parse(text: string): unknown {
    try {
      return parseJson(text)
    } catch {
      throw this.#changed()
    }
  }

  #readHeader(value: unknown): UsersPlanHeader {
    const { success, data } = checkShape(header, value)
    if (success) {
      const { id, created_at: createdAt, tool, service, state, serial } = data
      return { id, createdAt, tool, service, state, serial }
    }
    const { v, tool } = value as { v?: unknown; tool?: unknown }
    if (v === 1 || typeof v !== 'number') throw this.#changed()
    throw planOfOtherVersion(this.#name, tool, this.#toolVersion, newPlan)
  }

  #readUser(value: unknown): void {
    const left = checkShape(unmanaged, value)
    if (left.success) {
      const { email, id } = left.data.unmanaged
      this.#unmanaged.push({ email, id })
      return
    }
    const { success, data } = checkShape(planned, value)
    if (!success) throw this.#changed()
    const { email, id, action, wanted, fields, file, line, error } = data
    const values = new Map(Object.entries(wanted))
    this.#users.push({
      wanted: { ...userOf(values), email },
      hashes: Object.fromEntries(
        fields.flatMap(({ path, sent }) => (sent === undefined ? [] : [[path, sent]])),
      ),
      difference: {
        email,
        id,
        action,
        fields: fields.map(({ path, from, basis, drifted }) => ({
          path,
          from,
          to: values.get(path),
          basis,
          drifted,
        })),
        ...(file !== undefined && { file }),
        ...(line !== undefined && { line }),
        ...(error && { error: new Failure('incomplete', error.message, { code: error.code }) }),
      },
    })
  }

  #changed(): Failure {
    return changedPlan(this.#name, newPlan)
  }
}

/**
 * Refuses to apply a plan to another service, or with another version.
 *
 * @throws Failure `conflict`
 */
export function assertPlanFits(
  name: string,
  { service, tool }: UsersPlanHeader,
  about: { service: string; toolVersion: string },
): void {
  if (service !== about.service) throw planOfOtherService(name, service, about.service, newPlan)
  if (tool !== about.toolVersion) throw planOfOtherVersion(name, tool, about.toolVersion, newPlan)
}

/**
 * Refuses to apply a plan with an earlier state file, which may lack users that exist: they would be created twice.
 *
 * @param name of the plan
 * @throws Failure `conflict`
 */
export function assertStateFits(
  name: string,
  { serial }: UsersPlanHeader,
  state: Pick<UsersState, 'exists' | 'serial'> & { name: string },
): void {
  if (state.serial >= serial) return
  const words = state.exists
    ? `The state file ${state.name} is older than the plan ${name}`
    : `The plan ${name} was made with the state file ${state.name}, which does not exist`
  throw new Failure('conflict', words, { advice: [{ code: 'state_of_plan' }] })
}
