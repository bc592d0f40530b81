import * as z from 'zod/mini'
import { apiConfiguration } from './api-configuration.ts'
import { checkShape } from './faults.ts'
import { type Settings, type SettingsPatch, settingsPatch } from './settings.ts'

/** A leaf of the application settings, as `settings set` names it, or of the API configuration. */
export interface SettingsKey {
  /** Dotted, `theme.mode`. */
  path: string
  /** A list holds texts. */
  type: 'string' | 'boolean' | 'integer' | 'list'
  schema: z.ZodMiniType
}

type Definition = { type: string; shape?: Record<string, z.ZodMiniType>; innerType?: z.ZodMiniType }

/** By zod's name for the type. */
const typeNames: Record<string, SettingsKey['type']> = {
  number: 'integer',
  boolean: 'boolean',
  array: 'list',
}

/** Every leaf, read from the schema that requests are built with. */
export const settingsKeys: readonly SettingsKey[] = keysOf(settingsPatch, [])

/** The same of the API configuration, paths from its own root. */
export const apiConfigurationKeys: readonly SettingsKey[] = keysOf(apiConfiguration, [])

function keysOf(schema: z.ZodMiniType, path: string[]): SettingsKey[] {
  const { type, shape, innerType } = schema._zod.def as Definition
  if (innerType) return keysOf(innerType, path)
  if (shape) return Object.entries(shape).flatMap(([name, inner]) => keysOf(inner, [...path, name]))
  return [{ path: path.join('.'), type: typeNames[type] ?? 'string', schema }]
}

/** What a setting is, in a sentence. */
export function describeSettingsKey(path: string): string {
  const key = settingsKeys.find((known) => known.path === path)
  return key ? (z.toJSONSchema(key.schema).description ?? path) : path
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
    if (!checkShape(schema, value).success) continue
    if (name === undefined) patch[group] = value
    else patch[group] = { ...(patch[group] as object | undefined), [name]: value }
  }
  return patch as SettingsPatch
}
