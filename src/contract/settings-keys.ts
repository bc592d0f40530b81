import * as z from 'zod/mini'
import { apiConfiguration } from './api-configuration.ts'
import { isRecord } from './exact-json.ts'
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

type Values = Record<string, unknown>

/**
 * The settings that were read as a settings file: those that can be set again, and below `$unmanaged`
 * all others.
 */
export function settingsDocument(settings: Settings): SettingsPatch & { $unmanaged?: Values } {
  const { managed, unmanaged } = split(settings, '')
  return { ...managed, ...(unmanaged && { $unmanaged: unmanaged }) }
}

/** @param above the dotted path of `values`, with a dot at its end */
function split(values: Values, above: string): { managed?: Values; unmanaged?: Values } {
  const managed: [string, unknown][] = []
  const unmanaged: [string, unknown][] = []
  for (const [name, value] of Object.entries(values)) {
    const path = `${above}${name}`
    const key = settingsKeys.find((known) => known.path === path)
    const isGroup = settingsKeys.some((known) => known.path.startsWith(`${path}.`))
    // A documented key that is null is one that the service does not have.
    if ((key || isGroup) && value === null) continue
    if (isGroup && isRecord(value)) {
      const inner = split(value, `${path}.`)
      if (inner.managed) managed.push([name, inner.managed])
      if (inner.unmanaged) unmanaged.push([name, inner.unmanaged])
    } else if (key && checkShape(key.schema, value).success) managed.push([name, value])
    else unmanaged.push([name, value])
  }
  return {
    ...(managed.length > 0 && { managed: Object.fromEntries(managed) }),
    ...(unmanaged.length > 0 && { unmanaged: Object.fromEntries(unmanaged) }),
  }
}
