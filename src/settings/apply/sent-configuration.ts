import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { ApiResponse } from '../../client/response/response.ts'
import { contradictionsIn } from '../../contract/contradictions.ts'
import { Failure } from '../../contract/failure.ts'
import { parseJson } from '../../contract/notation/exact-json.ts'
import type { ApiConfiguration } from '../../contract/resources/settings.ts'
import { type Clock, isoNow } from '../../system/clock.ts'
import { describeSystemError, systemFailure } from '../../system/describe-system-error.ts'
import type { Directories } from '../../system/files/directories.ts'
import { replaceDocument } from '../../system/files/document-file.ts'
import { makePrivateDirectory } from '../../system/files/private-directory.ts'
import type { SentConfiguration } from '../plan.ts'

interface SentRecord {
  sent_at: string
  service: string
  configuration: ApiConfiguration
}

/**
 * The API configuration that was last sent to a service from this machine. Undefined if it is not known: none
 * was sent, the outcome of the last request is unknown, or the record is invalid.
 */
export function readSent(directories: Directories, service: string): SentConfiguration | undefined {
  try {
    const record = parseJson(readFileSync(pathOf(directories, service), 'utf8')) as SentRecord
    const { sent_at: sentAt, configuration } = record
    return record.service === service ? { sentAt, configuration } : undefined
  } catch {
    return undefined
  }
}

/**
 * Sends an API configuration and records it. The old record is deleted first, so that no crash leaves a wrong
 * record. It is restored if the request certainly had no effect.
 *
 * @param send sends the request
 * @param signal ends the request, whose outcome is then unknown
 * @throws Failure `storage` before anything is sent, if the old record cannot be deleted
 */
export async function sendConfiguration(
  directories: Directories,
  service: string,
  configuration: ApiConfiguration,
  send: () => Promise<ApiResponse<unknown>>,
  { signal, clock }: { signal: AbortSignal; clock: Clock },
): Promise<ApiResponse<unknown>> {
  const before = readSent(directories, service)
  deleteRecord(directories, service)
  let response: ApiResponse<unknown>
  try {
    response = await send()
  } catch (error) {
    const isOutcomeUnknown = error instanceof Failure ? error.isOutcomeUnknown : signal.aborted
    if (before && !isOutcomeUnknown) await writeRecord(directories, service, before)
    throw error
  }
  // The service may have another configuration, so there is nothing to compare the next one with.
  if (contradictionsIn(configuration, response.body).length > 0) return response
  const error = await writeRecord(directories, service, { sentAt: isoNow(clock), configuration })
  // The request has succeeded, so a failure to record it is only a warning.
  if (error !== undefined)
    response.warning ??= `the sent configuration cannot be recorded for the next diff: ${error}`
  return response
}

function deleteRecord(directories: Directories, service: string): void {
  const path = pathOf(directories, service)
  if (!existsSync(path)) return
  try {
    rmSync(path)
  } catch (cause) {
    const hint = 'The record would be wrong after this change. Delete it, or make its directory writable.'
    throw systemFailure(`Cannot delete the record ${path}`, cause, hint)
  }
}

/** @returns a description of the error, if the record could not be written */
async function writeRecord(
  directories: Directories,
  service: string,
  { sentAt, configuration }: SentConfiguration,
): Promise<string | undefined> {
  const path = pathOf(directories, service)
  try {
    makePrivateDirectory(dirname(path))
    const text = `${JSON.stringify({ sent_at: sentAt, service, configuration }, null, 2)}\n`
    await replaceDocument(path, text)
    return undefined
  } catch (error) {
    return describeSystemError(error)
  }
}

function pathOf({ state }: Directories, service: string): string {
  const name = createHash('sha256').update(service).digest('hex').slice(0, 24)
  return join(state, 'api-configuration', `${name}.json`)
}
