import * as z from 'zod/mini'
import { type Settings, type SettingsPatch, settingsPatch } from './settings.ts'

/** A leaf of the application settings, as `settings set` names it. */
export interface SettingsKey {
  /** Dotted, `theme.mode`. */
  path: string
  type: 'string' | 'boolean' | 'integer'
  schema: z.ZodMiniType
}

type Definition = { type: string; shape?: Record<string, z.ZodMiniType>; innerType?: z.ZodMiniType }

/** Every leaf, read from the schema that requests are built with. */
export const settingsKeys: readonly SettingsKey[] = leavesOf(settingsPatch, [])

function leavesOf(schema: z.ZodMiniType, path: string[]): SettingsKey[] {
  const { type, shape, innerType } = schema._zod.def as Definition
  if (innerType) return leavesOf(innerType, path)
  if (shape) return Object.entries(shape).flatMap(([name, inner]) => leavesOf(inner, [...path, name]))
  return [
    { path: path.join('.'), type: type === 'number' ? 'integer' : (type as 'string' | 'boolean'), schema },
  ]
}

/** What a setting is, in a sentence. */
export function describeSettingsKey(path: string): string {
  const key = settingsKeys.find((known) => known.path === path)
  return key ? (z.toJSONSchema(key.schema).description ?? path) : path
}

/** JSON Schema (draft 2020-12) of a settings file: any subset of the settings. */
export function settingsJsonSchema(): object {
  return z.toJSONSchema(settingsPatch)
}

/** Of the settings that were read, those that can be set again. */
export function applicableSettings(settings: Settings): SettingsPatch {
  const patch: Record<string, Record<string, unknown> | unknown> = {}
  for (const { path, schema } of settingsKeys) {
    const [group = '', name] = path.split('.')
    const holder = (name === undefined ? settings : settings[group]) as
      | Record<string, unknown>
      | null
      | undefined
    const value = holder?.[name ?? group]
    if (!z.safeParse(schema, value).success) continue
    if (name === undefined) patch[group] = value
    else patch[group] = { ...(patch[group] as object | undefined), [name]: value }
  }
  return patch as SettingsPatch
}
