import { Failure } from '../../contract/failure.ts'
import { checkShape, faultsOf } from '../../contract/faults.ts'
import { nearest } from '../../contract/nearest-word.ts'
import { isRecord } from '../../contract/notation/exact-json.ts'
import { booleanWords, parseValue } from '../../contract/notation/text-value.ts'
import type { SettingsPatch } from '../../contract/resources/settings.ts'
import {
  isPathName,
  isUndocumentedKey,
  type SettingsKey,
  settingsKeys,
} from '../../contract/resources/settings-file.ts'
import { maxSettingsBytes } from '../../system/files/read-named-file.ts'
import { looksSecret } from '../command-line.ts'
import type { Context } from '../context/context.ts'
import { type NestedField, nestFields, readTypedValue } from './key-values.ts'
import { readTextValue } from './read-input.ts'

const paths = settingsKeys.map(({ path }) => path)

/**
 * Reads `KEY=VALUE` words into the patch that names exactly those keys. `KEY=@file` and `KEY=-`
 * take the value from a file or stdin; `KEY=@@text` is a value that begins with an @.
 * `KEY:=JSON` is for undocumented settings, if these are allowed.
 * @throws Failure `usage` for an unknown or repeated key, `refused` for a value of the wrong type
 */
export async function readAssignments(
  words: readonly string[],
  allowsUnknownKeys: boolean,
  context: Context,
): Promise<SettingsPatch> {
  const fields: NestedField[] = []
  for (const word of words) {
    const at = word.indexOf('=')
    if (at < 1) {
      // What follows a colon may be a secret.
      throw new Failure(
        'usage',
        `"${looksSecret(word) ? word.replace(/:.*/s, '') : word}" is not KEY=VALUE`,
        { hint: 'For example: chatctl settings set theme.mode=dark' },
      )
    }
    const isTyped = allowsUnknownKeys && word[at - 1] === ':'
    const path = word.slice(0, isTyped ? at - 1 : at)
    const isUnknown = allowsUnknownKeys && isUndocumentedKey(path)
    const key = isUnknown ? undefined : findSettingsKey(word.slice(0, at))
    const source = { what: `the value of ${path}`, maxBytes: maxSettingsBytes }
    const text = await readTextValue(word.slice(at + 1), source, context)
    const value = key ? readValue(key, text) : isTyped ? readTypedValue(path, text, 'The setting') : text
    if (isUnknown) demandNames(path, value)
    fields.push({ key: path, value })
  }
  return nestFields(fields, '') as SettingsPatch
}

/** @throws Failure `usage` if a path cannot name each value, or if there is no value to read back */
function demandNames(path: string, value: unknown): void {
  if (!path.split('.').every(isPathName) || /[\\[\]]/.test(path))
    throw new Failure('usage', `"${path}" is not the name of a setting`)
  if (!isRecord(value)) return
  const inner = Object.entries(value)
  if (inner.length === 0) throw new Failure('usage', `${path}: {} contains no setting`)
  for (const [name, one] of inner) {
    if (!isPathName(name)) throw new Failure('usage', `${path}: "${name}" is empty or contains a dot`)
    demandNames(`${path}.${name}`, one)
  }
}

/** @throws Failure `usage` naming the nearest known key, or the keys of a group */
function findSettingsKey(path: string): SettingsKey {
  const known = settingsKeys.find((key) => key.path === path)
  if (known) return known
  const keys = paths.filter((key) => key.startsWith(`${path}.`))
  if (keys.length === 0) throw unknownSettingsKey(path, true)
  throw new Failure('usage', `"${path}" is a group of settings`, { hint: `Set one of: ${keys.join(', ')}` })
}

/**
 * Refuses a misspelled path before a request is sent. A path that resembles no documented setting may be a
 * field that only this service has.
 * @throws Failure `usage`
 */
export function refuseMisspelledSetting(path: string): void {
  if (!isDocumented(path) && similarKey(path) !== undefined) throw unknownSettingsKey(path)
}

/** Why a setting is not in a response: the service omitted it, or it does not exist. */
export function missingSetting(path: string): Failure {
  if (!isDocumented(path)) return unknownSettingsKey(path)
  return new Failure('invalid_response', `The response does not contain ${path}`)
}

/** Whether a path is a documented setting or a group of settings. */
function isDocumented(path: string): boolean {
  return paths.some((known) => known === path || known.startsWith(`${path}.`))
}

/** @param mayAllow whether a flag allows unknown keys */
function unknownSettingsKey(path: string, mayAllow = false): Failure {
  const meant = similarKey(path)
  const orAllow = mayAllow ? 'If the service has this undocumented setting, pass --allow-unknown-keys. ' : ''
  return new Failure('usage', `Unknown setting "${path}"`, {
    hint: orAllow + (meant ? `Did you mean ${meant}?` : `Known keys: ${paths.join(', ')}`),
  })
}

/** `theme.mode` for `mode` and `theme.mod`. */
function similarKey(path: string): string | undefined {
  const [sameEnd, ...others] = paths.filter((known) => known.endsWith(`.${path}`))
  return (others.length === 0 ? sameEnd : undefined) ?? nearest(path, paths)
}

function readValue(key: SettingsKey, text: string): unknown {
  const value = parseValue(key.type, text)
  const parsed = checkShape(key.schema, value)
  if (parsed.success) return parsed.data
  if (key.type === 'boolean') throw new Failure('refused', `${key.path}: "${text}" must be ${booleanWords}`)
  if (key.type === 'integer' && typeof value === 'string') {
    throw new Failure('refused', `${key.path}: "${text}" must be an integer`)
  }
  const [fault] = faultsOf(parsed.error)
  throw new Failure('refused', `${key.path}: "${text}" ${fault?.message ?? 'is not allowed'}`)
}
