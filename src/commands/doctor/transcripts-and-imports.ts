import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { commandLine } from '../../cli/command-line.ts'
import type { Configuration } from '../../config/configuration-file.ts'
import { localProfile } from '../../config/resolve-options.ts'
import { countOf } from '../../view/format/count.ts'
import { describeBytes } from '../../view/format/describe-bytes.ts'
import type { DoctorContext } from './doctor-context.ts'
import { type Examined, ok, warning } from './finding.ts'

/** Number and size of the sessions on this machine. */
export function examineTranscripts({ context }: DoctorContext): Examined[] {
  const directory = context.directories.sessions
  const { files, bytes } = measure(directory, (name) => name.endsWith('.jsonl'))
  if (files === 0) return [ok('transcripts', 'none yet')]
  return [ok('transcripts', `${countOf(files, 'session')}, ${describeBytes(bytes)}, in ${directory}`)]
}

/** Unfinished imports, each with the command that resumes it. */
export async function examineImports({ context, findUnfinishedImports }: DoctorContext): Promise<Examined[]> {
  const { bytes } = measure(join(context.directories.state, 'imports'), () => true)
  const unfinished = await findUnfinishedImports()
  if (unfinished.length === 0) {
    return [ok('imports', bytes === 0 ? 'none' : `none is unfinished; journals: ${describeBytes(bytes)}`)]
  }
  return unfinished.map(({ file, kind, service, rows, tried, unknown }) => {
    const outcome = unknown === 0 ? '' : `; the outcome of ${countOf(unknown, 'row')} is unknown`
    const words = `${file}: ${tried} of ${rows} rows were sent to ${service}${outcome}`
    const path = file === 'stdin' ? '-' : file
    const command =
      kind === 'users' ? ['users', 'import', path] : ['users', 'permissions', 'assign', '--file', path]
    const resume = commandLine(...command, ...serviceFlag(service, context.configuration))
    const hint = `Add --close to abandon it, or resume it${file === 'stdin' ? ' with the same input' : ''}: ${resume}`
    // Rows that were never sent may be invalid rows that the import skipped.
    return unknown > 0 ? warning('imports', words, hint) : ok('imports', words, hint)
  })
}

/** The profile with this base URL, because its credential is needed. @param service of a journal */
function serviceFlag(service: string, { profiles = {} }: Configuration): string[] {
  if (service.startsWith('local ')) return ['--profile', localProfile]
  const found = Object.entries(profiles).find(
    ([name, { base_url: url = '' }]) =>
      name !== localProfile && URL.canParse(url) && new URL(url).href === service,
  )
  return found ? ['--profile', found[0]] : ['--base-url', service]
}

function measure(directory: string, isMeant: (name: string) => boolean): { files: number; bytes: number } {
  let files = 0
  let bytes = 0
  for (const name of namesIn(directory)) {
    if (!isMeant(name)) continue
    files++
    bytes += statSync(join(directory, name), { throwIfNoEntry: false })?.size ?? 0
  }
  return { files, bytes }
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}
