import type { Context } from '../../cli/context/context.ts'
import { calls, type Requests } from '../../cli/documented-requests.ts'
import { Failure } from '../../contract/failure.ts'
import type { SettingsSource } from '../../settings/file/read-settings-files.ts'
import type { Part } from '../../settings/plan.ts'

/** The requests of `settings apply` and `settings edit`. */
export const applyRequests: Requests = {
  ...calls('getSettings', 'updateSettings', 'setApiConfiguration'),
  note: 'then reads the settings back.',
}

/** The failure for a plan that is given together with something that applies to settings files only. */
export function planNotAlone(name: string, others: string, command: string): Failure {
  return new Failure('usage', `${name} is a plan, which cannot be combined with other files, ${others}`, {
    hint: `Use it alone: ${command}`,
  })
}

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
