import { settingsSerialHeader } from '../contract/headers.ts'
import type { SettingsFile } from '../contract/resources/settings-file.ts'
import type { Run } from '../run/run.ts'
import { makePlan, type Plan } from './plan.ts'
import { readSent } from './settings-history.ts'

/** Reads the settings, which the ledger then has as the values before the next change. */
export async function readCurrentSettings(run: Run) {
  const client = await run.connect()
  const response = await client.settings.get()
  run.noteSettings(response.body ?? null)
  return { response, settings: response.body ?? {}, serial: response.headers[settingsSerialHeader] }
}

/**
 * Compares a settings file with the service and, for the API configuration, with the ledger.
 * @returns the plan, and the serial of the settings, if the service has one
 */
export async function compareSettings(
  run: Run,
  file: SettingsFile,
): Promise<{ plan: Plan; serial: string | undefined }> {
  const { response, settings, serial } = await readCurrentSettings(run)
  await run.warnOfResponse(response)
  return { plan: makePlan(run.service, file, settings, readSent(run), run.clock), serial }
}
