import { endpoints } from '../contract/endpoints.ts'
import { Failure, type Outcome } from '../contract/failure.ts'
import { isRecord } from '../contract/notation/exact-json.ts'
import { nest } from '../contract/notation/tree.ts'
import type { SettingsFile } from '../contract/resources/settings-file.ts'
import { redacted } from '../contract/secret-fields.ts'
import type { LedgerEntry } from '../ledger/changes.ts'
import { Ledger } from '../ledger/ledger.ts'
import type { Run } from '../run/run.ts'
import { type SentSettings, valuesOf } from './plan.ts'

/** The service, and where its ledger is. */
type LedgerOwner = Pick<Run, 'directories' | 'service'>

/** A key of a change that was sent from this machine. */
interface SentKey {
  /** ISO 8601 UTC. */
  at: string
  /** Of the change, which may have several keys. */
  id: string
  command: string
  /** Dotted; keys of the API configuration begin with `api.`. */
  path: string
  /** Null if it is not known, or if the service had no value. */
  before: unknown
  /**
   * `service`: it was read before the change. `last_sent`: the service cannot show it, and confirmed an earlier change
   * to it.
   */
  before_from: 'service' | 'last_sent' | 'not_known'
  after: unknown
  outcome: Outcome
}

/** The changes of the settings and of the API configuration of a service, oldest first. @throws as `Ledger` */
export function readSentKeys({ directories, service }: LedgerOwner): SentKey[] {
  const entries = Ledger.of(directories, service).changesOf('settings', 'api')
  /** The API configuration that the service has confirmed. */
  const confirmed = new Map<string, unknown>()
  return entries.flatMap(({ at, id, command, outcome, ...entry }) => {
    if (!isRecord(entry.values)) return []
    const isApi = entry.path === endpoints.setApiConfiguration.path
    return [...valuesOf(entry.values)].map(([key, after]): SentKey => {
      const path = isApi ? `api.${key}` : key
      const before = isApi ? confirmed.get(path) : entry.before?.[key]
      if (isApi && outcome === 'done') confirmed.set(path, after)
      else if (isApi && outcome !== 'refused') confirmed.delete(path)
      const isKnown = isApi ? before !== undefined : entry.before !== undefined
      const from = isKnown ? (isApi ? 'last_sent' : 'service') : 'not_known'
      return { at, id, command, path, before: before ?? null, before_from: from, after, outcome }
    })
  })
}

/** The last request that may have changed the API configuration. @throws as `Ledger` */
export function lastApiChange({ directories, service }: LedgerOwner): LedgerEntry | undefined {
  const isEffective = ({ outcome }: LedgerEntry) => outcome !== 'refused'
  return Ledger.of(directories, service).changesOf('api').findLast(isEffective)
}

/**
 * What was last sent to a service from this machine. The API configuration is not known if none was sent, the outcome
 * of the last request is unknown, or its response contradicts it.
 */
export function readSent(run: LedgerOwner): SentSettings {
  const { outcome = 'unknown', at = '', values } = lastApiChange(run) ?? {}
  const isKnown = (outcome === 'done' || outcome === 'unverified') && isRecord(values)
  const settings = new Map<string, unknown>()
  for (const { path, after, outcome } of readSentKeys(run)) {
    if (outcome === 'refused') continue
    for (const other of settings.keys()) {
      // A value may have replaced a group of values.
      if (`${path}.`.startsWith(`${other}.`) || other.startsWith(`${path}.`)) settings.delete(other)
    }
    if (outcome === 'done' && !isHidden(after)) settings.set(path, after)
  }
  return { settings, api: isKnown ? { sentAt: at, configuration: values } : undefined }
}

/**
 * The values before a change, as a settings file.
 * @param keys of the change
 * @throws Failure `refused` if a value is not recorded
 */
export function fileBefore(keys: readonly SentKey[]): SettingsFile {
  const isUnknown = ({ before, before_from: from }: SentKey) => from === 'not_known' || isHidden(before)
  const unknown = keys.filter(isUnknown).map(({ path }) => path)
  if (unknown.length > 0) {
    const words = `The ledger does not have the value before the change of ${unknown.join(', ')}`
    throw new Failure('refused', `${words}. Secrets are never recorded`, { code: 'value_not_recorded' })
  }
  const { api = {}, ...settings } = nest(keys.map(({ path, before }) => [path, before])) as {
    api?: object
  }
  return { settings, api }
}

/** Whether the ledger has a value without its secrets. */
function isHidden(value: unknown): boolean {
  return JSON.stringify(value).includes(redacted)
}
