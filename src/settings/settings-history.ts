import { readActivity } from '../activity/read-activity.ts'
import { endpoints } from '../contract/endpoints.ts'
import { Failure } from '../contract/failure.ts'
import { isRecord } from '../contract/notation/exact-json.ts'
import { nest } from '../contract/notation/tree.ts'
import type { SettingsFile } from '../contract/resources/settings-file.ts'
import { redacted } from '../contract/secret-fields.ts'
import { valuesOf } from './plan.ts'

/** A key of a change that was sent from this machine. */
export interface SentKey {
  /** ISO 8601 UTC. */
  at: string
  /** Of the change, which may have several keys. */
  id: string
  command: string
  /** Dotted; keys of the API configuration begin with `api.`. */
  path: string
  /** Undefined if it is not recorded. */
  before: unknown
  after: unknown
  outcome: 'done' | 'refused' | 'unknown'
}

/**
 * The changes of the settings and of the API configuration of a service, oldest first. The value before a change is
 * the one that was read before it, or else that of the change before it in the activity record.
 *
 * @throws as `readActivity`
 */
export function readSentKeys(directory: string, service: string, onUnreadable: () => void): SentKey[] {
  const { updateSettings, setApiConfiguration } = endpoints
  const entries = [
    ...readActivity(directory, onUnreadable, updateSettings),
    ...readActivity(directory, () => {}, setApiConfiguration),
  ].sort((one, other) => one.at.localeCompare(other.at))
  const last = new Map<string, unknown>()
  return entries.flatMap(({ at, id, command, outcome, ...entry }) => {
    if (entry.service !== service || !isRecord(entry.values)) return []
    const prefix = entry.path === updateSettings.path ? '' : 'api.'
    return [...valuesOf(entry.values)].map(([key, after]) => {
      const path = prefix + key
      const before = entry.before ? entry.before[key] : last.get(path)
      if (outcome !== 'refused') last.set(path, outcome === 'done' ? after : undefined)
      return { at, id, command, path, before, after, outcome }
    })
  })
}

/**
 * The values before a change, as a settings file.
 *
 * @param keys of the change
 * @throws Failure `refused` if a value is not recorded
 */
export function fileBefore(keys: readonly SentKey[]): SettingsFile {
  const isUnknown = ({ before }: SentKey) => before === undefined || JSON.stringify(before).includes(redacted)
  const unknown = keys.filter(isUnknown).map(({ path }) => path)
  if (unknown.length > 0) {
    const words = `The activity record does not have the value before the change of ${unknown.join(', ')}`
    throw new Failure('refused', `${words}. Secrets are never recorded`, { code: 'value_not_recorded' })
  }
  const { api = {}, ...settings } = nest(keys.map(({ path, before }) => [path, before])) as {
    api?: object
  }
  return { settings, api }
}
