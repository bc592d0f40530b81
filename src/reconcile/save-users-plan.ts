import { createHash, randomUUID } from 'node:crypto'
import { closeSync, lstatSync, openSync, readSync, realpathSync } from 'node:fs'
import { Failure } from '../contract/failure.ts'
import { planWouldOverwrite } from '../contract/saved-plan.ts'
import { describeSystemError } from '../system/describe-system-error.ts'
import { DocumentFile } from '../system/document-file.ts'
import type { PlannedUser } from './apply/planned-user.ts'
import type { UsersPlan } from './apply/users-plan.ts'
import { managedFields } from './managed-fields.ts'
import { isUsersPlan, type UsersPlanHeader, usersPlanBeginning, usersPlanFormat } from './users-plan-file.ts'

/** A new header. */
export function headerOf(about: Omit<UsersPlanHeader, 'id'>): UsersPlanHeader {
  return { id: randomUUID(), ...about }
}

/**
 * Writes a plan atomically, with mode 0600: one line for each user, and a checksum at the end. It contains the
 * values to send, including those that are hidden on the screen.
 *
 * @throws Failure `refused` if another file than a plan exists at the path; `storage`
 */
export async function saveUsersPlan(
  path: string,
  { id, createdAt: created_at, tool, service, state, serial }: UsersPlanHeader,
  plan: Pick<UsersPlan, 'users' | 'unmanaged' | 'counts'>,
): Promise<void> {
  assertReplaceable(path)
  const file = new DocumentFile(path)
  const hash = createHash('sha256')
  try {
    let pending = ''
    const write = async (value: object): Promise<void> => {
      const line = `${JSON.stringify(value)}\n`
      hash.update(line)
      pending += line
      if (pending.length < 64 * 1024) return
      await file.write(Buffer.from(pending))
      pending = ''
    }
    await write({ format: usersPlanFormat, v: 1, id, created_at, tool, service, state, serial })
    for (const user of plan.users) await write(lineOf(user))
    for (const user of plan.unmanaged) await write({ unmanaged: user })
    const checksum = hash.digest('hex')
    await file.write(Buffer.from(`${pending}${JSON.stringify({ counts: plan.counts, checksum })}\n`))
    await file.finish()
  } catch (error) {
    await file.discard()
    throw error
  }
}

function lineOf({ wanted, difference, hashes = {} }: PlannedUser): object {
  const { email, id, action, fields, file, line, error } = difference
  return {
    email,
    id,
    action,
    wanted: Object.fromEntries(managedFields(wanted)),
    fields: fields.map(({ path, from, basis, drifted }) => ({
      path,
      from,
      basis,
      drifted,
      sent: hashes[path],
    })),
    file,
    line,
    error: error && { code: error.code, message: error.message },
  }
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
    const bytes = Buffer.alloc(usersPlanBeginning.length)
    return isUsersPlan(bytes.toString('latin1', 0, readSync(descriptor, bytes)))
  } finally {
    closeSync(descriptor)
  }
}
