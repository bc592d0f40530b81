import { Failure } from '../../contract/failure.ts'
import { checkShape, faultsOf } from '../../contract/faults.ts'
import { nearest } from '../../contract/nearest-word.ts'
import type { SettingsPatch } from '../../contract/settings.ts'
import { type SettingsKey, settingsKeys } from '../../contract/settings-keys.ts'
import { switchWords, valueOfText } from '../../contract/text-value.ts'
import { maxSettingsBytes } from '../../system/read-named-file.ts'
import type { Context } from '../create-context.ts'
import { readStdin, readTextFile, withoutFinalNewline } from './read-input.ts'

const paths = settingsKeys.map(({ path }) => path)

/**
 * Reads `KEY=VALUE` words into the patch that names exactly those keys. `KEY=@file` and `KEY=-`
 * take the value from a file or stdin; `KEY=@@text` is a value that begins with an @.
 *
 * @throws Failure `usage` for an unknown or repeated key, `refused` for a value of the wrong type
 */
export async function readAssignments(words: readonly string[], context: Context): Promise<SettingsPatch> {
  const patch: Record<string, unknown> = {}
  const seen = new Set<string>()
  for (const word of words) {
    const at = word.indexOf('=')
    if (at < 1) {
      throw new Failure('usage', `"${word}" is not KEY=VALUE`, {
        hint: 'For example: chatctl settings set theme.mode=dark',
      })
    }
    const key = findSettingsKey(word.slice(0, at))
    if (seen.has(key.path)) throw new Failure('usage', `${key.path} was given twice`)
    seen.add(key.path)
    assign(patch, key.path.split('.'), readValue(key, await readSource(word.slice(at + 1), key, context)))
  }
  return patch as SettingsPatch
}

/** @throws Failure `usage` naming the nearest known key */
function findSettingsKey(path: string): SettingsKey {
  const key = settingsKeys.find((known) => known.path === path)
  if (key) return key
  throw unknownSettingsKey(path)
}

/** Why a setting is not in an answer: the service left it out, or there is none of that name. */
export function missingSetting(path: string): Failure {
  if (!paths.some((known) => known === path || known.startsWith(`${path}.`))) return unknownSettingsKey(path)
  return new Failure('invalid_response', `The response does not contain ${path}`)
}

function unknownSettingsKey(path: string): Failure {
  const meant = nearest(path, paths)
  return new Failure('usage', `Unknown setting "${path}"`, {
    hint: meant ? `Did you mean ${meant}?` : `Settings: ${paths.join(', ')}`,
  })
}

async function readSource(text: string, key: SettingsKey, context: Context): Promise<string> {
  if (text === '-')
    return withoutFinalNewline(await readStdin(`the value of ${key.path}`, context, maxSettingsBytes))
  if (text.startsWith('@@')) return text.slice(1)
  if (text.startsWith('@')) return withoutFinalNewline(readTextFile(text.slice(1), context, maxSettingsBytes))
  return text
}

function readValue(key: SettingsKey, text: string): unknown {
  const value = valueOfText(key.type, text)
  const parsed = checkShape(key.schema, value)
  if (parsed.success) return parsed.data
  if (key.type === 'boolean') throw new Failure('refused', `${key.path}: "${text}" must be ${switchWords}`)
  const [fault] = faultsOf(parsed.error)
  throw new Failure('refused', `${key.path}: "${text}" ${fault?.message ?? 'is not allowed'}`)
}

function assign(target: Record<string, unknown>, [step = '', ...rest]: string[], value: unknown): void {
  if (rest.length === 0) {
    target[step] = value
    return
  }
  target[step] ??= {}
  assign(target[step] as Record<string, unknown>, rest, value)
}
