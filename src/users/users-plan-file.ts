import { createHash } from 'node:crypto'
import { closeSync, lstatSync, openSync, readSync, realpathSync } from 'node:fs'
import * as z from 'zod/mini'
import { Failure } from '../contract/failure.ts'
import { checkShape } from '../contract/faults.ts'
import { parseJson } from '../contract/notation/exact-json.ts'
import {
  changedPlan,
  planOfOtherService,
  planOfOtherVersion,
  planWouldOverwrite,
} from '../contract/resources/saved-plan.ts'
import { describeSystemError } from '../system/describe-system-error.ts'
import { DocumentFile } from '../system/files/document-file.ts'
import type { UserCounts } from '../view/user-differences.ts'
import type { PlannedUser } from './apply/planned-user.ts'
import type { UsersPlan } from './apply/users-plan.ts'
import type { Input } from './input/input.ts'
import { TextLines } from './input/text/text-lines.ts'
import type { UsersState } from './state/users-state.ts'

/** Where a saved plan comes from. */
export interface UsersPlanHeader {
  id: string
  /** ISO 8601, UTC. */
  created_at: string
  /** The version of chatctl that made it. */
  tool: string
  service: string
  /** The name of the state file, and its generation before the comparison. */
  state: string
  serial: number
}

type SavedDifferences = Pick<UsersPlan, 'users' | 'unmanaged' | 'counts'>

/** A saved plan of users. */
export interface UsersPlanFile extends SavedDifferences {
  header: UsersPlanHeader
}

const format = 'chatctl-users-plan'
const newPlan = { code: 'save_users_plan' } as const
const beginning = `{"format":"${format}"`

const header = z.strictObject({
  format: z.literal(format),
  v: z.literal(1),
  // It becomes a file name.
  id: z.string().check(z.regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)),
  created_at: z.string(),
  tool: z.string(),
  service: z.string(),
  state: z.string(),
  serial: z.int(),
})

/** Whether a text is the beginning of a plan of users, rather than of a file of users. */
export function isUsersPlan(text: string): boolean {
  return text.startsWith(beginning)
}

/**
 * Writes a plan atomically, with mode 0600: one line for each user, and a checksum at the end. It contains the
 * values to send, including those that are hidden on the screen.
 *
 * @throws Failure `refused` if another file than a plan exists at the path; `storage`
 */
export async function saveUsersPlan(
  path: string,
  about: UsersPlanHeader,
  { users, unmanaged, counts }: SavedDifferences,
): Promise<void> {
  assertReplaceable(path)
  const file = new DocumentFile(path)
  const hash = createHash('sha256')
  let pending = ''
  const write = async (value: object): Promise<void> => {
    const line = `${JSON.stringify(value)}\n`
    hash.update(line)
    pending += line
    if (pending.length < 64 * 1024) return
    await file.write(Buffer.from(pending))
    pending = ''
  }
  try {
    await write({ format, v: 1, ...about })
    for (const user of users) await write({ user: plain(user) })
    for (const user of unmanaged) await write({ unmanaged: user })
    await write({ counts })
    await file.write(Buffer.from(`${pending}${checksumLine(hash.digest('hex'))}\n`))
    await file.finish()
  } catch (error) {
    await file.discard()
    throw error
  }
}

function checksumLine(checksum: string): string {
  return JSON.stringify({ checksum })
}

/** A line has the code and the message of an error. */
function plain({ difference, ...user }: PlannedUser): object {
  const { error, ...rest } = difference
  return { ...user, difference: { ...rest, error: error && { code: error.code, message: error.message } } }
}

/** @throws Failure `refused` */
function assertReplaceable(path: string): void {
  try {
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined || isPlanAt(realpathSync(path))) return
  } catch (cause) {
    throw new Failure('storage', `Cannot write the plan ${path}: ${describeSystemError(cause)}`, { cause })
  }
  throw planWouldOverwrite(path)
}

function isPlanAt(path: string): boolean {
  if (!lstatSync(path).isFile()) return false
  const descriptor = openSync(path, 'r')
  try {
    const bytes = Buffer.alloc(beginning.length)
    return isUsersPlan(bytes.toString('latin1', 0, readSync(descriptor, bytes)))
  } finally {
    closeSync(descriptor)
  }
}

/**
 * Reads a plan. If the checksum matches, chatctl has written its lines, so their content is not checked.
 *
 * @throws Failure `refused` if the file was changed or truncated; `conflict` if its format is another version
 */
export async function readUsersPlan(
  input: Pick<Input, 'name' | 'read'>,
  toolVersion: string,
): Promise<UsersPlanFile> {
  const hash = createHash('sha256')
  const users: PlannedUser[] = []
  const unmanaged: UsersPlan['unmanaged'][number][] = []
  let about: UsersPlanHeader | undefined
  let counts: UserCounts | undefined
  let isWhole = false
  for await (const text of linesOf(input)) {
    if (isWhole) throw changedPlan(input.name, newPlan)
    isWhole = counts !== undefined && text === checksumLine(hash.copy().digest('hex'))
    if (isWhole) continue
    hash.update(`${text}\n`)
    const value = parse(text)
    if (!about) about = readHeader(value, input.name, toolVersion)
    else if (value.user) users.push(value.user)
    else if (value.unmanaged) unmanaged.push(value.unmanaged)
    else counts = value.counts
  }
  if (!isWhole || !about || !counts) throw changedPlan(input.name, newPlan)
  return { header: about, users: users.map(restored), unmanaged, counts }
}

async function* linesOf({ name, read }: Pick<Input, 'name' | 'read'>): AsyncGenerator<string> {
  const lines = new TextLines(name)
  const decoder = new TextDecoder()
  for await (const chunk of read()) {
    for (const { text } of lines.take(decoder.decode(chunk, { stream: true }), false)) yield text
  }
  for (const { text } of lines.take(decoder.decode(), true)) yield text
}

/** A line between the header and the checksum. */
interface PlanLine {
  user?: PlannedUser
  unmanaged?: UsersPlan['unmanaged'][number]
  counts?: UserCounts
}

/** @returns an empty line for invalid JSON, which the checksum refuses */
function parse(text: string): PlanLine {
  try {
    return Object(parseJson(text))
  } catch {
    return {}
  }
}

function readHeader(value: object, name: string, toolVersion: string): UsersPlanHeader {
  const { success, data } = checkShape(header, value)
  if (success) {
    const { format: _, v: __, ...about } = data
    return about
  }
  const { v, tool } = value as { v?: unknown; tool?: unknown }
  if (v === 1 || typeof v !== 'number') throw changedPlan(name, newPlan)
  throw planOfOtherVersion(name, tool, toolVersion, newPlan)
}

/** The inverse of `plain`. */
function restored({ difference, ...user }: PlannedUser): PlannedUser {
  const { error, ...rest } = difference
  if (!error) return { ...user, difference }
  return {
    ...user,
    difference: { ...rest, error: new Failure('incomplete', error.message, { code: error.code }) },
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
 * Refuses to apply a plan a second time, or with an earlier state file, which may lack users that exist: they would
 * be created twice.
 *
 * @param name of the plan
 * @param isApplied whether this user has applied the plan
 * @throws Failure `conflict`
 */
export function assertUnapplied(
  name: string,
  { id, serial }: UsersPlanHeader,
  state: UsersState,
  isApplied: boolean,
): void {
  if (isApplied || state.hasApplied(id)) {
    throw new Failure('conflict', `The plan ${name} was already applied`, { advice: [newPlan] })
  }
  if (state.serial >= serial) return
  const words = state.exists
    ? `The state file ${state.name} is older than the plan ${name}`
    : `The plan ${name} was made with the state file ${state.name}, which does not exist`
  throw new Failure('conflict', words, { advice: [{ code: 'state_of_plan' }] })
}
