import type { ApiConfiguration } from '../contract/api-configuration.ts'
import { canonicalJson } from '../contract/exact-json.ts'
import type { Settings, SettingsPatch } from '../contract/settings.ts'
import type { SettingsFile } from '../contract/settings-file.ts'
import { apiConfigurationKeys, type SettingsKey, settingsKeys } from '../contract/settings-keys.ts'
import { type Clock, isoNow } from '../system/clock.ts'
import { valueAt } from '../view/view.ts'
import { leavesOf, patchOf } from './leaves.ts'

/** A key that is to change, or has changed. */
export interface Change {
  /** Dotted; of the API configuration with `api.` before it. */
  path: string
  /** null where the service has none. */
  from: unknown
  to: unknown
}

/** A key that a file names, whether it differs or not. */
export type Managed = Change

/** What the service has and what it is to have, of the managed keys. */
export interface Plan {
  /** Its address, `local` for the embedded one. */
  service: string
  settings: readonly Managed[]
  /** Paths from the root of the API configuration; absent where the file has none of it. */
  api?: {
    /** When what `from` holds was sent; null where nothing is known to have been. */
    sentAt: string | null
    /** ISO 8601, UTC: what is sent from here after it is news. */
    comparedAt: string
    managed: readonly Managed[]
  }
}

/** The API configuration that was last sent to a service from here. */
export interface SentConfiguration {
  /** ISO 8601, UTC. */
  sentAt: string
  configuration: ApiConfiguration
}

/**
 * @param current as it was read from the service
 * @param sent what was last sent from here, for it cannot be read
 */
export function makePlan(
  service: string,
  file: SettingsFile,
  current: Settings,
  sent: SentConfiguration | undefined,
  clock: Clock,
): Plan {
  const settings = managedKeys(settingsKeys, file.settings, current)
  const api = managedKeys(apiConfigurationKeys, file.api, sent?.configuration ?? {})
  return {
    service,
    settings,
    ...(api.length === 0
      ? {}
      : { api: { sentAt: sent?.sentAt ?? null, comparedAt: isoNow(clock), managed: api } }),
  }
}

/** In the order of the contract, whatever that of the file is. */
function managedKeys(keys: readonly SettingsKey[], wanted: object, current: object): Managed[] {
  const leaves = leavesOf(wanted)
  return keys.flatMap(({ path }) =>
    leaves.has(path) ? [{ path, from: foundAt(current, path), to: leaves.get(path) }] : [],
  )
}

/** What a service has at a path as a plan says it; null where it has none. */
export function foundAt(current: object, path: string): unknown {
  return valueAt(current, path) ?? null
}

/** What differs: settings, then the API configuration with `api.` before its paths. */
export function changesOf({ settings, api }: Plan): Change[] {
  return [
    ...settings.filter(isChange),
    ...(api?.managed ?? []).filter(isChange).map((change) => ({ ...change, path: `api.${change.path}` })),
  ]
}

/** The bodies that apply a plan; absent where there is nothing to send. */
export interface PlanRequests {
  /** Exactly the keys that change. */
  patch?: SettingsPatch
  /** All that is managed: a service may replace by it what it has, or merge it. */
  configuration?: ApiConfiguration
}

/** What `applyPlan` will send. */
export function requestsOf({ settings, api }: Plan): PlanRequests {
  const changes = settings.filter(isChange)
  const configuration = api?.managed.some(isChange) ? wantedOf(api.managed) : undefined
  return {
    ...(changes.length === 0 ? {} : { patch: wantedOf(changes) as SettingsPatch }),
    ...(configuration === undefined ? {} : { configuration: configuration as ApiConfiguration }),
  }
}

function wantedOf(managed: readonly Managed[]): object {
  return patchOf(new Map(managed.map(({ path, to }) => [path, to])))
}

/** What a plan wants, as the file that it was made of. */
export function fileOf({ settings, api }: Plan): SettingsFile {
  return {
    settings: wantedOf(settings) as SettingsPatch,
    api: wantedOf(api?.managed ?? []) as ApiConfiguration,
  }
}

function isChange({ path, from, to }: Managed): boolean {
  return !isSame(path, from, to)
}

/**
 * Whether two JSON values say the same. A color's letters may have any case, for a service may
 * write it its own way.
 */
export function isSame(path: string, one: unknown, other: unknown): boolean {
  if (path === 'theme.primary_color' && typeof one === 'string' && typeof other === 'string')
    return one.toLowerCase() === other.toLowerCase()
  return canonicalJson(one) === canonicalJson(other)
}

/** A change as commands print it. */
export interface PrintedChange extends Change {
  /** With what `from` was found, where that is not what the service has. */
  compared_with?: 'last_sent'
}

/** What commands print of a plan. */
export function resultOf(plan: Plan): { changes: PrintedChange[] } {
  const count = changesOf({ service: plan.service, settings: plan.settings }).length
  const print = (change: Change, index: number): PrintedChange =>
    index < count ? change : { ...change, compared_with: 'last_sent' }
  return { changes: changesOf(plan).map(print) }
}

/** What a plan covers, whether it changes or not. */
export function coverageOf({ settings, api }: Plan): { managed: number; sentAt: string | null } {
  return { managed: settings.length + (api?.managed.length ?? 0), sentAt: api?.sentAt ?? null }
}

/** What one configuration says otherwise than the one sent before it. */
export interface SentDifference {
  sentAt: string
  changes: PrintedChange[]
  /** Paths, `api.` before each, that were sent then and are not now: what becomes of them is the service's choice. */
  left: string[]
}

export function compareSent(before: SentConfiguration, configuration: ApiConfiguration): SentDifference {
  const { sentAt } = before
  const managed = managedKeys(apiConfigurationKeys, configuration, before.configuration)
  const plan = { service: '', settings: [], api: { sentAt, comparedAt: sentAt, managed } }
  const named = leavesOf(configuration)
  return {
    sentAt,
    changes: resultOf(plan).changes,
    left: [...leavesOf(before.configuration).keys()]
      .filter((path) => !named.has(path))
      .map((path) => `api.${path}`),
  }
}
