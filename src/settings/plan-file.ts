import { createHash, randomUUID } from 'node:crypto'
import { existsSync, lstatSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod/mini'
import { Failure } from '../contract/failure.ts'
import { checkShape } from '../contract/faults.ts'
import { canonicalJson, isRecord, parseJson, tryParse } from '../contract/notation/exact-json.ts'
import {
  changedPlan,
  planOfOtherService,
  planOfOtherVersion,
  planWouldOverwrite,
} from '../contract/resources/saved-plan.ts'
import { namedSettingsFile } from '../contract/resources/settings-file.ts'
import {
  apiConfigurationKeys,
  isPathName,
  isUndocumentedKey,
  type SettingsKey,
  settingsKeys,
} from '../contract/resources/settings-keys.ts'
import { type Clock, isoNow } from '../system/clock.ts'
import { describeSystemError } from '../system/describe-system-error.ts'
import type { Directories } from '../system/files/directories.ts'
import { replaceDocument } from '../system/files/document-file.ts'
import { makePrivateDirectory } from '../system/files/private-directory.ts'
import type { SettingsSource } from './file/read-settings-files.ts'
import { leavesOf, patchOf } from './leaves.ts'
import { type Part, parts } from './part.ts'
import { type ManagedKey, type Plan, settingsFileOf } from './plan.ts'

/** A saved plan. */
export interface PlanFile {
  id: string
  plan: Plan
  /** As in the file: ISO 8601, UTC. */
  createdAt: string
  /** The version of chatctl that made it. */
  tool: string
}

/** What a plan file is checked against. */
export interface PlanContext {
  directories: Directories
  service: string
  toolVersion: string
  /** Whether a new plan will be made from it, so that it may be of another version or already applied. */
  refresh?: boolean
  /** The part to apply (default: both). */
  only?: Part | undefined
}

const format = 'chatctl-plan'

const newPlan = { code: 'save_new_plan' } as const

/** zod accepts a missing field as unknown, although JSON has no undefined value. */
const jsonValue = z.unknown().check(z.refine((value) => value !== undefined))
const managed = z.array(z.strictObject({ path: z.string(), from: jsonValue, to: jsonValue }))

const planFile = z.strictObject({
  format: z.literal(format),
  v: z.literal(1),
  id: z.string().check(z.regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)),
  created_at: z.string(),
  tool: z.string(),
  service: z.string(),
  base_hash: z.string(),
  settings: managed,
  api: z.optional(z.strictObject({ sent_at: z.nullable(z.string()), managed })),
  checksum: z.string(),
})

/** The text of a plan file: JSON with a checksum of its content. */
export function composePlanFile(plan: Plan, toolVersion: string, clock: Clock): string {
  const { service, settings, api } = plan
  const content = {
    format,
    v: 1,
    id: randomUUID(),
    created_at: api?.comparedAt ?? isoNow(clock),
    tool: toolVersion,
    service,
    base_hash: baseHashOf(plan),
    settings,
    ...(api === undefined ? {} : { api: { sent_at: api.sentAt, managed: api.managed } }),
  }
  return `${JSON.stringify({ ...content, checksum: hashOf(content) }, null, 2)}\n`
}

/** A hash of the values on which a plan is based. */
function baseHashOf({ settings, api }: Plan): string {
  const found = (keys: readonly ManagedKey[], prefix: string) =>
    keys.map(({ path, from }) => [prefix + path, from])
  return hashOf([...found(settings, ''), ...found(api?.managed ?? [], 'api.')])
}

/** SHA-256 of the canonical JSON, 64 hex digits. */
export function hashOf(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex')
}

/** The beginning of a plan file, to recognize a truncated one. */
const beginning = /^\s*\{\s*"format"\s*:\s*"chatctl-plan"/

/** Whether a text is a plan file, possibly changed or truncated, rather than a settings file. */
export function isPlanFile(text: string): boolean {
  const value = tryParse(text, parseJson)
  if (value === undefined) return beginning.test(text)
  return typeof value === 'object' && value !== null && Reflect.get(value, 'format') === format
}

/**
 * Reads a plan to show it.
 *
 * @throws Failure `refused` if the file is not a plan or was changed; `conflict` if its format is another
 */
export function readPlanFile({ name, text }: SettingsSource, toolVersion: string): PlanFile {
  if (!isPlanFile(text))
    throw new Failure('refused', `${name} is not a plan file`, { advice: [{ code: 'save_plan' }] })
  const { checksum, ...content } = (tryParse(text, parseJson) ?? {}) as Record<string, unknown>
  if (!hasChecksum(checksum, content)) throw changedPlan(name, { code: 'save_plan' })
  if (content['v'] !== 1) throw planOfOtherVersion(name, content['tool'], toolVersion, newPlan)
  const parsed = checkShape(planFile, { ...content, checksum })
  const plan = parsed.success ? planOf(parsed.data) : undefined
  if (!parsed.success || !plan || parsed.data.base_hash !== baseHashOf(plan) || !isApplicable(plan)) {
    throw new Failure('refused', `${name} is not a plan made by chatctl`, {
      advice: [{ code: 'save_plan' }],
    })
  }
  const { id, tool, created_at: createdAt } = parsed.data
  return { id, plan, createdAt, tool }
}

/**
 * @param name of the file
 * @returns why the plan cannot be applied; undefined if it can
 */
export function refusalOf(
  { id, plan, tool }: PlanFile,
  name: string,
  about: PlanContext,
): Failure | undefined {
  if (plan.service !== about.service) {
    return planOfOtherService(name, plan.service, about.service, { code: 'service_of_plan' })
  }
  if (about.refresh) return undefined
  if (tool !== about.toolVersion) return planOfOtherVersion(name, tool, about.toolVersion, newPlan)
  if (!isApplied(about.directories, id, about.only)) return undefined
  const isWhole = about.only !== undefined || existsSync(markOf(about.directories, id, undefined))
  return new Failure('conflict', `The plan ${name} was already sent${isWhole ? '' : ' in part'}`, {
    advice: [newPlan],
  })
}

function hasChecksum(checksum: unknown, content: unknown): boolean {
  try {
    return checksum === hashOf(content)
  } catch {
    // Nested too deeply for recursion, so chatctl did not write it.
    return false
  }
}

function planOf({ service, created_at: comparedAt, settings, api }: z.infer<typeof planFile>): Plan {
  return {
    service,
    settings,
    ...(api === undefined ? {} : { api: { sentAt: api.sent_at, comparedAt, managed: api.managed } }),
  }
}

/** Whether a settings file could contain the same keys and values, each key once. */
function isApplicable(plan: Plan): boolean {
  const undocumented = plan.settings.filter(({ path }) => isUndocumentedKey(path))
  const documented = plan.settings.filter((key) => !undocumented.includes(key))
  const { settings, api } = settingsFileOf({ ...plan, settings: documented })
  return (
    areKeys(documented, settingsKeys) &&
    areLeaves(undocumented) &&
    areKeys(plan.api?.managed ?? [], apiConfigurationKeys) &&
    checkShape(namedSettingsFile, { settings, api }).success
  )
}

/** Whether the paths are those of values and lists, each once, and none contains another. */
function areLeaves(managed: readonly ManagedKey[]): boolean {
  const found = leavesOf(patchOf(new Map(managed.map(({ path, to }) => [path, to]))))
  return (
    found.size === managed.length &&
    managed.every(({ path, to }) => path.split('.').every(isPathName) && !isRecord(to) && found.has(path))
  )
}

function areKeys(managed: readonly ManagedKey[], known: readonly SettingsKey[]): boolean {
  const paths = new Set(managed.map(({ path }) => path))
  return paths.size === managed.length && known.filter(({ path }) => paths.has(path)).length === paths.size
}

/**
 * Writes a plan file atomically, with mode 0600.
 *
 * @throws Failure `refused` if another file than a plan exists at the path, `storage` if the file cannot be
 *   written
 */
export async function savePlan(path: string, text: string): Promise<void> {
  try {
    const exists = lstatSync(path, { throwIfNoEntry: false }) !== undefined
    if (exists && !isPlan(realpathSync(path))) throw planWouldOverwrite(path)
    await replaceDocument(path, text)
  } catch (cause) {
    if (cause instanceof Failure) throw cause
    throw new Failure('storage', `Cannot write the plan ${path}: ${describeSystemError(cause)}`, {
      cause,
    })
  }
}

function isPlan(path: string): boolean {
  return lstatSync(path).isFile() && isPlanFile(readFileSync(path, 'utf8'))
}

function appliedPlansDirectory({ state }: Directories): string {
  return join(state, 'applied-plans')
}

/**
 * Records that a plan was applied, so that it cannot be applied again.
 *
 * @param id from `composePlanFile`, because it becomes a file name
 * @param only the part that was applied (default: both)
 * @throws Failure `storage`
 */
export function markApplied(directories: Directories, id: string, only?: Part): void {
  const path = markOf(directories, id, only)
  try {
    makePrivateDirectory(appliedPlansDirectory(directories))
    writeFileSync(path, '', { mode: 0o600 })
  } catch (cause) {
    throw new Failure('storage', `Cannot record that the plan was applied: ${describeSystemError(cause)}`, {
      hint: `Make ${appliedPlansDirectory(directories)} writable. Do not apply the plan file again.`,
      cause,
    })
  }
}

/** @param only the part in question (default: any part) */
export function isApplied(directories: Directories, id: string, only?: Part): boolean {
  const marked = [undefined, ...(only === undefined ? parts : [only])]
  return marked.some((part) => existsSync(markOf(directories, id, part)))
}

function markOf(directories: Directories, id: string, only: Part | undefined): string {
  return join(appliedPlansDirectory(directories), only === undefined ? id : `${id}.${only}`)
}
