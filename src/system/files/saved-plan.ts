import { createHash, randomUUID } from 'node:crypto'
import { lstatSync, readFileSync, statSync } from 'node:fs'
import { nameOfService } from '../../contract/base-url.ts'
import { Failure } from '../../contract/failure.ts'
import { parseJson } from '../../contract/notation/exact-json.ts'
import { type Clock, isoAfter, isoNow } from '../clock.ts'
import { systemFailure } from '../describe-system-error.ts'
import { replaceDocument } from './document-file.ts'
import { isSealed, type SealKey, sealPlan, unsealPlan } from './sealed-plan.ts'

/** Where a saved plan comes from. */
export interface PlanHeader {
  id: string
  /** ISO 8601, UTC. */
  created_at: string
  /** The version of chatctl that made it. */
  tool: string
  /** Base URL, or `local` for the embedded service. */
  service: string
  /** ISO 8601, UTC (default: it can be applied at any time). */
  valid_until?: string
  /** Of the settings, or of the state file, from which it was made, if they have one. */
  serial?: string | number | undefined
}

/** @param validFor in ms */
export function newHeader<T extends Pick<PlanHeader, 'tool' | 'service' | 'serial'>>(
  about: T,
  clock: Pick<Clock, 'now'>,
  validFor: number | undefined,
): PlanHeader & T {
  const created_at = isoNow(clock)
  const valid = validFor === undefined ? {} : { valid_until: isoAfter(Date.parse(created_at), validFor) }
  return { id: randomUUID(), created_at, ...about, ...valid }
}

/** A kind of plan: the name of its format, and the hint how to make a new one. */
export interface PlanKind {
  format: string
  newPlan: string
}

const end = /,"checksum":"([0-9a-f]{64})"\}\s*$/

const idPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

const timePattern = /^\d{4}(-\d\d){2}T\d\d(:\d\d){2}(\.\d+)?Z$/

/** The text of a plan file: JSON that ends with a checksum of the text before it. */
export function composePlan({ format }: PlanKind, content: object, indent?: number): string {
  const text = JSON.stringify({ format, v: 1, ...content }, null, indent)
    .slice(0, -1)
    .trimEnd()
  return `${text},"checksum":"${checksumOf(text)}"}\n`
}

function checksumOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** Whether a text begins like a plan, sealed or not, which may be changed or truncated. */
export function isPlan(text: string, { format }: PlanKind): boolean {
  if (isSealed(text, format)) return true
  return text.slice(0, 200).replace(/\s/g, '').startsWith(`{"format":"${format}"`)
}

/**
 * Writes a plan atomically, with mode 0600. It contains the values to send, including those that are hidden on the
 * screen.
 * @param key seals it (default: the plan is not sealed)
 * @throws Failure `refused` if another file than a plan exists at the path; `storage`
 */
export async function savePlan(path: string, text: string, kind: PlanKind, key?: SealKey): Promise<void> {
  try {
    const exists = lstatSync(path, { throwIfNoEntry: false }) !== undefined
    if (exists && !(statSync(path).isFile() && isPlan(readFileSync(path, 'latin1'), kind))) {
      throw new Failure('refused', `${path} exists and is not a plan, so it is not overwritten`, {
        advice: [{ code: 'other_plan_file' }],
      })
    }
    await replaceDocument(path, key ? sealPlan(text, kind.format, key) : text)
  } catch (cause) {
    throw systemFailure(`Cannot write the plan ${path}`, cause)
  }
}

/**
 * Reads a plan. A file whose checksum matches is complete, but anyone may have written it. Of the texts that are
 * shown before the differences, none can look like a sentence of chatctl.
 * @param name of the file
 * @param key of a sealed plan
 * @param timesIn the times in the rest of the plan
 * @throws Failure `refused` if it is not a plan, or was changed or truncated, or as `unsealPlan`; `conflict` if its
 *   format is another version
 */
export function readPlan<T extends PlanHeader>(
  file: { name: string; text: string },
  kind: PlanKind,
  toolVersion: string,
  key?: SealKey,
  timesIn: (content: T) => unknown[] = () => [],
): T {
  const hint = kind.newPlan
  const { name } = file
  const isEncrypted = isSealed(file.text, kind.format)
  const text = isEncrypted ? unsealPlan(file, kind.format, key) : file.text
  if (!isPlan(text, kind)) throw new Failure('refused', `${name} is not a plan file`, { hint })
  // Otherwise, a plan that others can write could replace a sealed one.
  if (key && !isEncrypted) {
    const words = `${name} is not sealed, although a seal key is given`
    throw new Failure('refused', words, { code: 'not_sealed', hint: 'Apply an unsealed plan without a key.' })
  }
  const found = end.exec(text)
  if (!found || checksumOf(text.slice(0, found.index)) !== found[1]) {
    const words = `${name} was changed or truncated: the checksum does not match its content`
    throw new Failure('refused', words, { hint })
  }
  const { format: _, v, checksum: __, ...content } = parseJson(text) as Record<string, unknown> & PlanHeader
  const { id, created_at, tool, service, valid_until = created_at, serial = 0 } = content
  const fits = (pattern: RegExp, ...values: unknown[]) =>
    values.every((value) => typeof value !== 'object' && pattern.test(String(value)))
  const isValid =
    fits(idPattern, id) &&
    fits(timePattern, created_at, valid_until, ...timesIn(content as unknown as T)) &&
    fits(/^[\w.+-]{1,40}$/, tool) &&
    fits(/^[!-~]+$/, service, serial)
  if (!isValid) throw new Failure('refused', `${name} is not a plan made by chatctl`, { hint })
  if (v !== 1) throw otherVersion(name, tool, toolVersion, kind)
  return content as unknown as T
}

function otherVersion(name: string, tool: string, current: string, { newPlan }: PlanKind): Failure {
  const words = `The plan ${name} was made by chatctl ${tool}, but this is chatctl ${current}`
  return new Failure('conflict', words, { hint: newPlan })
}

/** Why a plan cannot be applied here: it is for another service, has expired, or is from another version. */
export function misfitOf(
  name: string,
  { service, tool, valid_until: end }: PlanHeader,
  about: { service: string; toolVersion: string; now: number },
  kind: PlanKind,
): Failure | undefined {
  const hint = kind.newPlan
  const misfit = (words: string) => new Failure('conflict', `The plan ${name} ${words}`, { hint })
  if (service !== about.service)
    return misfit(`is for ${nameOfService(service)}, not for ${nameOfService(about.service)}`)
  if (end !== undefined && !(about.now <= Date.parse(end))) return misfit(`was valid until ${end}`)
  return tool === about.toolVersion ? undefined : otherVersion(name, tool, about.toolVersion, kind)
}
