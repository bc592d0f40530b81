import { endpoints } from '../contract/endpoints.ts'
import { Failure } from '../contract/failure.ts'
import { canonicalJson, isRecord } from '../contract/notation/exact-json.ts'
import { leavesOf, nest, valueAt } from '../contract/notation/tree.ts'
import type { ApiConfiguration, ApplicationSettings, SettingsPatch } from '../contract/resources/settings.ts'
import {
  apiConfigurationKeys,
  isUndocumentedKey,
  type SettingsFile,
  type SettingsKey,
  settingsKeys,
} from '../contract/resources/settings-file.ts'
import { hideSecrets } from '../contract/secret-fields.ts'
import { type Clock, isoNow } from '../system/clock.ts'
import type { PlannedRequest } from '../view/dry-run.ts'
import type { IgnoredKeys, PrintedChange } from '../view/settings.ts'

/** Scalars and lists by their dotted path. */
export type Leaves = ReadonlyMap<string, unknown>

/** The values of nested objects. An object without keys has none. */
export function valuesOf(object: object): Leaves {
  return new Map(leavesOf(object).filter(([, value]) => value !== undefined && !isRecord(value)))
}

/** A planned or applied change of a key, or a managed key, whether it differs or not. */
export interface Change {
  /** Dotted; keys of the API configuration begin with `api.`. */
  path: string
  /** null if the service has no value. */
  from: unknown
  to: unknown
  /** The service's value is neither the wanted one nor the one that was last sent: someone else changed it. */
  drifted?: true
}

/** The current and the wanted values of the managed keys. */
export interface Plan {
  /** Base URL, or `local` for the embedded service. */
  service: string
  /** Of the settings from which a saved plan was made, if the service has one. */
  serial?: string | undefined
  settings: readonly Change[]
  /** Paths from the root of the API configuration. Absent if the file contains none of it. */
  api?: {
    /** When the `from` values were sent; null if that is not known. */
    sentAt: string | null
    /** ISO 8601, UTC. A configuration that this machine sends later makes the plan out of date. */
    comparedAt: string
    managed: readonly Change[]
  }
}

/** The API configuration that was last sent to a service from this machine. */
export interface SentConfiguration {
  /** ISO 8601, UTC. */
  sentAt: string
  configuration: ApiConfiguration
}

/** What was last sent to a service from this machine. */
export interface SentSettings {
  /** By path: the settings whose last change was confirmed. */
  settings: Leaves
  /** Replaces reading the API configuration, which the interface does not offer. Undefined if it is not known. */
  api: SentConfiguration | undefined
}

/** @param current as it was read from the service */
export function makePlan(
  service: string,
  file: SettingsFile,
  current: ApplicationSettings,
  sent: Partial<SentSettings>,
  clock: Clock,
): Plan {
  const settings = managedKeys(settingsKeys, file.settings, current, sent.settings)
  const api = managedKeys(apiConfigurationKeys, file.api, sent.api?.configuration ?? {})
  const compared = { sentAt: sent.api?.sentAt ?? null, comparedAt: isoNow(clock), managed: api }
  return { service, settings, ...(api.length > 0 && { api: compared }) }
}

/** In the order of the contract, not of the file. Undocumented keys follow. */
function managedKeys(keys: readonly SettingsKey[], wanted: object, current: object, sent?: Leaves): Change[] {
  const leaves = valuesOf(wanted)
  const documented = keys.map(({ path }) => path)
  return [...new Set([...documented, ...leaves.keys()])].flatMap((path): Change[] => {
    if (!leaves.has(path)) return []
    const [from, to] = [foundAt(current, path), leaves.get(path)]
    const isSent = (value: unknown) => isSameValue(path, value, sent?.get(path))
    const drifted = sent?.has(path) && !isSent(from) && !isSameValue(path, from, to)
    return [{ path, from, to, ...(drifted && { drifted }) }]
  })
}

export function undocumentedIn({ settings }: Plan): string[] {
  return settings.map(({ path }) => path).filter(isUndocumentedKey)
}

/** The value at a path; null if there is none. */
export function foundAt(current: object, path: string): unknown {
  return valueAt(current, path) ?? null
}

/** The differences: settings, then the API configuration. */
export function changesOf({ settings, api }: Plan): Change[] {
  return [...settings.filter(isChange), ...(api?.managed ?? []).filter(isChange).map(inApi)]
}

function inApi(change: Change): Change {
  return { ...change, path: `api.${change.path}` }
}

/** The request bodies that apply a plan. Undefined if there is nothing to send. */
export function requestsOf({ settings, api }: Plan) {
  const changes = settings.filter(isChange)
  return {
    patch: changes.length > 0 ? (wantedOf(changes) as SettingsPatch) : undefined,
    // All managed keys, because a service may replace its configuration rather than merge.
    configuration: api?.managed.some(isChange) ? (wantedOf(api.managed) as ApiConfiguration) : undefined,
  }
}

/** The requests that apply a plan, to show them. */
export function plannedRequests(plan: Plan): PlannedRequest[] {
  const { patch, configuration } = requestsOf(plan)
  const { updateSettings, setApiConfiguration } = endpoints
  return [
    ...(patch ? [{ ...updateSettings, line: undefined, body: patch }] : []),
    ...(configuration ? [{ ...setApiConfiguration, line: undefined, body: configuration }] : []),
  ]
}

function wantedOf(managed: readonly Change[]): object {
  return nest(managed.map(({ path, to }) => [path, to]))
}

export function settingsFileOf({ settings, api }: Plan): SettingsFile {
  return {
    settings: wantedOf(settings) as SettingsPatch,
    api: wantedOf(api?.managed ?? []) as ApiConfiguration,
  }
}

export function changedPlan(plan: Plan): Plan {
  return { ...plan, settings: plan.settings.filter(isChange) }
}

function isChange({ path, from, to }: Change): boolean {
  return !isSameValue(path, from, to)
}

/**
 * Whether two JSON values are equal. A color is compared without case, because a service may change the case of
 * its letters.
 */
export function isSameValue(path: string, one: unknown, other: unknown): boolean {
  if (path === 'theme.primary_color' && typeof one === 'string' && typeof other === 'string')
    return one.toLowerCase() === other.toLowerCase()
  return canonicalJson(one) === canonicalJson(other)
}

/** A plan as commands print it. */
export function resultOf(plan: Plan): { changes: PrintedChange[] } {
  const count = changesOf({ service: plan.service, settings: plan.settings }).length
  const print = (change: Change, index: number): PrintedChange => {
    if (index >= count) return { ...change, compared_with: 'last_sent' }
    const { path, from, to } = change
    if (!isUndocumentedKey(path)) return change
    return { ...change, from: hideSecrets(from, path), to: hideSecrets(to, path), undocumented: true }
  }
  return { changes: changesOf(plan).map(print) }
}

/** The extent of a plan: all managed keys, whether they change or not. */
export function coverageOf({ settings, api }: Plan): { managed: number; sentAt: string | null } {
  return { managed: settings.length + (api?.managed.length ?? 0), sentAt: api?.sentAt ?? null }
}

/** The changes to an API configuration, and the paths that only the earlier one has. The service may keep them. */
export function compareSent(
  before: ApiConfiguration,
  now: ApiConfiguration,
): { changes: Change[]; left: string[] } {
  const changes = managedKeys(apiConfigurationKeys, now, before).filter(isChange).map(inApi)
  const named = valuesOf(now)
  const left = [...valuesOf(before).keys()].filter((path) => !named.has(path))
  return { changes, left: left.map((path) => `api.${path}`) }
}

export type Part = 'settings' | 'api'

/** The keys of the other part. @throws Failure `refused` if the file has no key of the chosen one */
function ignoredBesides(only: Part, counts: Record<Part, number>, name: string): { ignored?: IgnoredKeys } {
  const part = only === 'settings' ? 'api' : 'settings'
  if (counts[only] === 0) {
    const missing = only === 'api' ? 'the API configuration' : 'the settings'
    throw new Failure('refused', `${name} contains no key of ${missing}`, {
      hint: `Use --only ${part}, or omit --only.`,
    })
  }
  return counts[part] === 0 ? {} : { ignored: { part, keys: counts[part] } }
}

/** One part of a settings file, or both. @throws Failure as `ignoredBesides` */
export function partOfFile(
  file: SettingsFile,
  only: Part | undefined,
  name: string,
): { file: SettingsFile; ignored?: IgnoredKeys } {
  if (only === undefined) return { file }
  const counts = { settings: valuesOf(file.settings).size, api: valuesOf(file.api).size }
  const ignored = ignoredBesides(only, counts, name)
  return { file: { settings: {}, api: {}, [only]: file[only] }, ...ignored }
}

/** The same of a plan. */
export function partOfPlan(
  plan: Plan,
  only: Part | undefined,
  name: string,
): { plan: Plan; ignored?: IgnoredKeys } {
  if (only === undefined) return { plan }
  const { settings, api, ...about } = plan
  const ignored = ignoredBesides(only, { settings: settings.length, api: api?.managed.length ?? 0 }, name)
  return {
    plan: only === 'settings' ? { ...about, settings } : { ...about, settings: [], ...(api && { api }) },
    ...ignored,
  }
}
