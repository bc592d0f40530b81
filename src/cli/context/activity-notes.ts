import { localProfile } from '../../config/resolve-options.ts'
import type { LedgerEntry } from '../../ledger/knowledge.ts'
import { countOf } from '../../view/format/quantities.ts'
import { commandLine } from '../command-line.ts'
import { outcomeHint } from '../errors/outcome-hint.ts'
import type { Context } from './context.ts'

type Sent = Pick<LedgerEntry, 'method' | 'path' | 'service' | 'profile'>

/** How to check a change whose outcome is unknown, with commands for its service. */
export function nextStepFor({ method, path, service, profile }: Sent, { configuration }: Context): string {
  const ofProfile = profile === null ? undefined : configuration.profiles?.[profile]?.base_url
  const isOfProfile =
    ofProfile !== undefined && URL.canParse(ofProfile) && new URL(ofProfile).href === service
  const named =
    service === 'local'
      ? ['--profile', localProfile]
      : isOfProfile && profile !== null
        ? ['--profile', profile]
        : ['--base-url', service]
  const url = `${service === 'local' ? 'http://localhost' : service.replace(/\/$/, '')}${path}`
  return outcomeHint({ method, url }, (...words) => commandLine(...words, ...named))
}

/** @param lines how many lines of ledgers could not be read */
export async function warnOfUnreadable(lines: number, { output }: Context): Promise<void> {
  if (lines === 0) return
  await output.warn(
    `${countOf(lines, 'line')} of the ledger cannot be read and ${lines === 1 ? 'is' : 'are'} skipped`,
  )
}
