import type { Context } from '../../cli/context/context.ts'
import { warnOfResponse } from '../../cli/output/warn-of-response.ts'
import type { ApiResponse } from '../../client/response/response.ts'
import { nameOfService } from '../../contract/base-url.ts'
import { Failure } from '../../contract/failure.ts'
import type { ApplicationSettings } from '../../contract/resources/settings.ts'
import type { LockOptions } from '../../settings/apply/apply-plan.ts'
import type { SettingsSource } from '../../settings/file/read-settings-files.ts'
import type { Part } from '../../settings/plan.ts'
import { countOf } from '../../view/format/quantities.ts'
import { type Comparison, differenceView } from '../../view/settings.ts'

/** The failure for a plan that is given together with something that applies to settings files only. */
export function planNotAlone(name: string, others: string, command: string): Failure {
  return new Failure('usage', `${name} is a plan, which cannot be combined with other files, ${others}`, {
    hint: `Use it alone: ${command}`,
  })
}

/** The service of a plan: its base URL, or `local` for the embedded service. */
export function planServiceOf(context: Context): string {
  return context.contextOwner().baseUrl ?? 'local'
}

/** Options of the lock that a change of settings holds, one per service. */
export function lockingFor({ directories, output, signal }: Context): LockOptions {
  return {
    directories,
    signal,
    onWait: () => output.progress('Waiting for another chatctl process that is changing these settings…'),
    warn: (words) => output.warn(words),
  }
}

/** The settings in a response. Warns if the response does not match the interface. */
export async function settingsIn(
  response: ApiResponse<ApplicationSettings>,
  { output, sentChanges }: Context,
): Promise<ApplicationSettings> {
  await warnOfResponse(response, output)
  sentChanges.settingsBefore = response.body
  return response.body ?? {}
}

/** Shows the differences and asks for confirmation, except with `--dry-run`. */
export async function confirmPlan(
  plan: { changes: readonly unknown[] } & Comparison,
  isConfirmed: boolean,
  context: Context,
): Promise<void> {
  if (context.dryRun) return
  const isPrompted = !isConfirmed && context.prompter.canAsk
  await context.output.showAside(differenceView(plan), plan, isPrompted)
  if (isConfirmed) return
  const service = planServiceOf(context)
  const changes = countOf(plan.changes.length, 'change')
  await context.prompter.confirm(`Apply ${changes} to ${nameOfService(service)}?`)
}

/** Flags for reading settings files. */
export interface ReadingFlags {
  'allow-unknown-keys': boolean
  'expand-env': boolean
  only?: Part | undefined
}

/** The part of the files that `--only` names. */
export async function readWanted(sources: readonly SettingsSource[], flags: ReadingFlags, { env }: Context) {
  const { readSettingsFiles } = await import('../../settings/file/read-settings-files.ts')
  const { partOfFile } = await import('../../settings/plan.ts')
  const read = readSettingsFiles(sources, {
    env: flags['expand-env'] ? env : undefined,
    allowsUnknownKeys: flags['allow-unknown-keys'],
  })
  return partOfFile(read, flags.only, sources.map(({ name }) => name).join(', '))
}
