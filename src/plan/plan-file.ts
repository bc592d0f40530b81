import { createHash, randomUUID } from 'node:crypto'
import { existsSync, lstatSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod/mini'
import { canonicalJson, parseJson } from '../contract/exact-json.ts'
import { Failure } from '../contract/failure.ts'
import { checkShape } from '../contract/faults.ts'
import { namedSettingsFile } from '../contract/settings-file.ts'
import { apiConfigurationKeys, type SettingsKey, settingsKeys } from '../contract/settings-keys.ts'
import { type Clock, isoNow } from '../system/clock.ts'
import { describeSystemError } from '../system/describe-system-error.ts'
import type { Directories } from '../system/directories.ts'
import { replaceDocument } from '../system/document-file.ts'
import { makePrivateDirectory } from '../system/private-directory.ts'
import type { SettingsSource } from './file/read-settings-files.ts'
import { fileOf, type Managed, type Plan } from './plan.ts'

/** A plan that was saved. */
export interface PlanFile {
  id: string
  plan: Plan
}

/** What a plan file must agree with. */
export interface PlanContext {
  directories: Directories
  service: string
  toolVersion: string
  /** A new plan is made of it: another version of the tool and an earlier use are forgiven. */
  refresh?: boolean
}

const format = 'chatctl-plan'

/** JSON makes no difference between a field that is undefined and one that is not there. */
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

/** The text of a plan file: JSON with a checksum over all that it says. */
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

/** Names the state that a plan was made for: two plans with one hash have found the same. */
function baseHashOf({ settings, api }: Plan): string {
  const found = (keys: readonly Managed[], prefix: string) =>
    keys.map(({ path, from }) => [prefix + path, from])
  return hashOf([...found(settings, ''), ...found(api?.managed ?? [], 'api.')])
}

/** SHA-256 of the canonical JSON, 64 hex digits. */
export function hashOf(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex')
}

/** Of what `composePlanFile` makes: it tells a plan that was cut off from a settings file. */
const beginning = /^\s*\{\s*"format"\s*:\s*"chatctl-plan"/

/** Whether a text is a plan file rather than a settings file, be it altered, cut off or as it was. */
export function isPlanFile(text: string): boolean {
  const value = parse(text)
  if (value === undefined) return beginning.test(text)
  return typeof value === 'object' && value !== null && Reflect.get(value, 'format') === format
}

/**
 * @throws Failure `refused` for what is no plan or was altered; `conflict` for one of another
 *   service, by another version, or that was sent already
 */
export function readPlanFile({ name, text }: SettingsSource, about: PlanContext): PlanFile {
  if (!isPlanFile(text))
    throw new Failure('refused', `${name} is not a plan file`, { advice: [{ code: 'save_plan' }] })
  const { checksum, ...content } = (parse(text) ?? {}) as Record<string, unknown>
  if (!fits(checksum, content)) {
    throw new Failure(
      'refused',
      `${name} was changed or truncated: the checksum does not match its content`,
      {
        advice: [{ code: 'save_plan' }],
      },
    )
  }
  if (content['v'] !== 1) throw madeByAnother(name, content['tool'], about)
  const parsed = checkShape(planFile, { ...content, checksum })
  const plan = parsed.success ? planOf(parsed.data) : undefined
  if (!parsed.success || !plan || parsed.data.base_hash !== baseHashOf(plan) || !isApplicable(plan)) {
    throw new Failure('refused', `${name} is not a plan made by chatctl`, {
      advice: [{ code: 'save_plan' }],
    })
  }
  const { id, tool, service } = parsed.data
  if (service !== about.service) {
    throw new Failure(
      'conflict',
      `The plan ${name} is for ${nameOf(service)}, not for ${nameOf(about.service)}`,
      {
        advice: [{ code: 'service_of_plan' }],
      },
    )
  }
  if (about.refresh) return { id, plan }
  if (tool !== about.toolVersion) throw madeByAnother(name, tool, about)
  if (isApplied(about.directories, id)) {
    throw new Failure('conflict', `The plan ${name} was already sent`, {
      advice: [{ code: 'save_new_plan' }],
    })
  }
  return { id, plan }
}

function fits(checksum: unknown, content: unknown): boolean {
  try {
    return checksum === hashOf(content)
  } catch {
    // Nested deeper than can be followed: nothing that chatctl has made.
    return false
  }
}

function madeByAnother(name: string, tool: unknown, { toolVersion }: PlanContext): Failure {
  return new Failure(
    'conflict',
    `The plan ${name} was made by chatctl ${tool}, but this is chatctl ${toolVersion}`,
    {
      advice: [{ code: 'save_new_plan' }],
    },
  )
}

function nameOf(service: string): string {
  return service === 'local' ? 'the embedded service' : service
}

function planOf({ service, created_at: comparedAt, settings, api }: z.infer<typeof planFile>): Plan {
  return {
    service,
    settings,
    ...(api === undefined ? {} : { api: { sentAt: api.sent_at, comparedAt, managed: api.managed } }),
  }
}

/** Whether it wants only what a settings file could, each key once. */
function isApplicable(plan: Plan): boolean {
  const { settings, api } = fileOf(plan)
  return (
    areKeys(plan.settings, settingsKeys) &&
    areKeys(plan.api?.managed ?? [], apiConfigurationKeys) &&
    checkShape(namedSettingsFile, { settings, api }).success
  )
}

function areKeys(managed: readonly Managed[], known: readonly SettingsKey[]): boolean {
  const paths = new Set(managed.map(({ path }) => path))
  return paths.size === managed.length && known.filter(({ path }) => paths.has(path)).length === paths.size
}

function parse(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}

/**
 * Writes a plan file for its owner alone, whole or not at all.
 *
 * @throws Failure `refused` where it would take the place of what is no plan, `storage` where it
 *   cannot be written
 */
export async function savePlan(path: string, text: string): Promise<void> {
  try {
    const isThere = lstatSync(path, { throwIfNoEntry: false }) !== undefined
    if (isThere && !isPlan(realpathSync(path))) {
      throw new Failure('refused', `${path} exists and is not a plan, so it is not overwritten`, {
        advice: [{ code: 'other_plan_file' }],
      })
    }
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

function folder({ state }: Directories): string {
  return join(state, 'applied-plans')
}

/**
 * Keeps in mind that a plan was applied, so that it is not a second time.
 *
 * @param id one that `composePlanFile` made: it becomes the name of a file
 * @throws Failure `storage`
 */
export function markApplied(directories: Directories, id: string): void {
  const path = join(folder(directories), id)
  try {
    makePrivateDirectory(folder(directories))
    writeFileSync(path, '', { mode: 0o600 })
  } catch (cause) {
    throw new Failure('storage', `Cannot record that the plan was applied: ${describeSystemError(cause)}`, {
      hint: `Make ${folder(directories)} writable. Do not apply the plan file again.`,
      cause,
    })
  }
}

export function isApplied(directories: Directories, id: string): boolean {
  return existsSync(join(folder(directories), id))
}
