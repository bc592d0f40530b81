import { createHash } from 'node:crypto'
import { lstatSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod/mini'
import type { ApiResponse } from '../../client/response.ts'
import { type ApiConfiguration, apiConfiguration } from '../../contract/api-configuration.ts'
import { parseJson } from '../../contract/exact-json.ts'
import { Failure } from '../../contract/failure.ts'
import { checkShape } from '../../contract/faults.ts'
import { type Clock, isoNow } from '../../system/clock.ts'
import { describeSystemError } from '../../system/describe-system-error.ts'
import type { Directories } from '../../system/directories.ts'
import { replaceDocument } from '../../system/document-file.ts'
import { makePrivateDirectory } from '../../system/private-directory.ts'
import { syncDirectory } from '../../system/replace-file.ts'
import type { SentConfiguration } from '../plan.ts'

const record = z.strictObject({
  sent_at: z.string().check(z.regex(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/)),
  service: z.string(),
  configuration: apiConfiguration,
})

/**
 * What was last sent to a service from here. Undefined where that is not known: nothing was, or it
 * is not certain what, or the file is broken.
 */
export function readSent(directories: Directories, service: string): SentConfiguration | undefined {
  try {
    const { data } = checkShape(record, parseJson(readFileSync(pathOf(directories, service), 'utf8')))
    if (data?.service !== service) return undefined
    return { sentAt: data.sent_at, configuration: data.configuration }
  } catch {
    return undefined
  }
}

/**
 * Sends an API configuration and keeps it in mind. The record is forgotten first, so that a crash
 * leaves "not known" and never a wrong "last sent"; it comes back where nothing can have changed.
 *
 * @param send what sends it
 * @param signal that ends the sending: after it the outcome is unknown
 * @throws Failure `storage` before anything is sent, where an old record cannot be forgotten
 */
export async function sendConfiguration(
  directories: Directories,
  service: string,
  configuration: ApiConfiguration,
  send: () => Promise<ApiResponse<unknown>>,
  { signal, clock }: { signal: AbortSignal; clock: Clock },
): Promise<ApiResponse<unknown>> {
  const before = readSent(directories, service)
  forget(directories, service)
  let answer: ApiResponse<unknown>
  try {
    answer = await send()
  } catch (error) {
    const isOutcomeUnknown = error instanceof Failure ? error.isOutcomeUnknown : signal.aborted
    if (before && !isOutcomeUnknown) await keep(directories, service, before)
    throw error
  }
  const trouble = await keep(directories, service, { sentAt: isoNow(clock), configuration })
  // A state directory that is read-only must not make a failure of what is done.
  if (trouble !== undefined)
    answer.warning ??= `the sent configuration cannot be recorded for the next diff: ${trouble}`
  return answer
}

function forget(directories: Directories, service: string): void {
  const path = recordPath(directories, service)
  if (path === undefined) return
  try {
    rmSync(path, { force: true })
    // Else it might be there again after a crash of the machine.
    syncDirectory(folder(directories))
  } catch (cause) {
    throw new Failure('storage', `Cannot delete the record ${path}: ${describeSystemError(cause)}`, {
      hint: 'The record would be wrong after this change. Delete it, or make its directory writable.',
      cause,
    })
  }
}

/** @returns undefined where this user can have no record: without a state directory, or with an unreadable one */
function recordPath(directories: Directories, service: string): string | undefined {
  try {
    const path = pathOf(directories, service)
    lstatSync(path, { throwIfNoEntry: false })
    return path
  } catch {
    return undefined
  }
}

/** @returns why it could not be */
async function keep(
  directories: Directories,
  service: string,
  { sentAt, configuration }: SentConfiguration,
): Promise<string | undefined> {
  try {
    makePrivateDirectory(folder(directories))
    const text = `${JSON.stringify({ sent_at: sentAt, service, configuration }, null, 2)}\n`
    await replaceDocument(pathOf(directories, service), text)
    return undefined
  } catch (error) {
    return describeSystemError(error)
  }
}

function folder(directories: Directories): string {
  return join(directories.state, 'api-configuration')
}

function pathOf(directories: Directories, service: string): string {
  const name = createHash('sha256').update(service).digest('hex').slice(0, 24)
  return join(folder(directories), `${name}.json`)
}
