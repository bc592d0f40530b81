import * as z from 'zod/mini'
import { checkShape } from '../faults.ts'
import { jsonSchemaDialect, jsonSchemaOf } from '../json-schema.ts'
import { isRecord } from '../notation/exact-json.ts'
import {
  type ApiConfiguration,
  type ApplicationSettings,
  apiConfiguration,
  type SettingsPatch,
  settingsPatch,
} from './settings.ts'

/** The keys that a settings file manages. Both parts may be empty. */
export interface SettingsFile {
  settings: SettingsPatch
  api: ApiConfiguration
}

/** Keys of both layouts that are not settings. */
const notes = {
  $schema: z.optional(z.string().check(z.describe('Location of the JSON Schema of this file, for editors'))),
  $unmanaged: z.optional(
    z
      .record(z.string(), z.unknown())
      .check(z.describe('Other settings of the service; diff and apply ignore them')),
  ),
}

/** The layout with the settings at the top level. */
const bareSettingsFile = z.extend(settingsPatch, notes)

/** The layout with the keys `settings` and `api`. */
const namedSettingsFile = z.strictObject({
  ...notes,
  settings: z.optional(settingsPatch.check(z.describe('Settings'))),
  api: z.optional(apiConfiguration.check(z.describe('API configuration; it can be set but not read back'))),
})

/** JSON Schema (draft 2020-12) of a settings file in both layouts, with at least one key. */
export function settingsJsonSchema(): object {
  const { anyOf } = jsonSchemaOf(z.union([bareSettingsFile, namedSettingsFile]))
  return {
    $schema: jsonSchemaDialect,
    title: 'chatctl settings file',
    description: 'Settings of an AI chat service. Only the keys in the file are managed.',
    anyOf: (anyOf as ObjectSchema[]).map((layout) => ({ ...layout, ...requireKey(layout) })),
  }
}

interface ObjectSchema {
  properties?: Record<string, ObjectSchema>
}

/** Requires a key in the object or in a nested object, because a file without settings is an error. */
function requireKey({ properties = {} }: ObjectSchema): object {
  const managed = Object.entries(properties).filter(([name]) => !name.startsWith('$'))
  return {
    anyOf: managed.map(([name, inner]) => ({
      required: [name],
      ...(inner.properties && { properties: { [name]: requireKey(inner) } }),
    })),
  }
}

/** A leaf of the settings, as `settings set` names it, or of the API configuration. */
export interface SettingsKey {
  /** Dotted, `theme.mode`. */
  path: string
  /** The items of a list are strings. */
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

/** All leaves, from the schema of the request. */
export const settingsKeys: readonly SettingsKey[] = keysOf(settingsPatch, [])

/** All leaves of the API configuration, with paths from its root. */
export const apiConfigurationKeys: readonly SettingsKey[] = keysOf(apiConfiguration, [])

function keysOf(schema: z.ZodMiniType, path: string[]): SettingsKey[] {
  const { type, shape, innerType } = schema._zod.def as Definition
  if (innerType) return keysOf(innerType, path)
  if (shape) return Object.entries(shape).flatMap(([name, inner]) => keysOf(inner, [...path, name]))
  return [{ path: path.join('.'), type: typeNames[type] ?? 'string', schema }]
}

/** The description of a setting; its path if it has none. */
export function describeSettingsKey(path: string): string {
  const key = settingsKeys.find((known) => known.path === path)
  return key ? (z.toJSONSchema(key.schema).description ?? path) : path
}

/**
 * Whether a path can be a setting that only some services have: it is no documented key, and neither above nor
 * below one.
 */
export function isUndocumentedKey(path: string): boolean {
  const isRelated = (known: string) =>
    known === path || known.startsWith(`${path}.`) || path.startsWith(`${known}.`)
  return !settingsKeys.some((known) => isRelated(known.path))
}

/** Whether a path can contain a name as one step. */
export function isPathName(name: string): boolean {
  return name !== '' && !name.includes('.')
}

type Values = Record<string, unknown>

/** Settings of the service as a settings file: keys that can be set, and below `$unmanaged` all others. */
export function settingsDocument(settings: ApplicationSettings): SettingsPatch & { $unmanaged?: Values } {
  const { managed, unmanaged } = split(settings, '')
  return { ...managed, ...(unmanaged && { $unmanaged: unmanaged }) }
}

/** @param above the dotted path of `values`, with a trailing dot */
function split(values: Values, above: string): { managed?: Values; unmanaged?: Values } {
  const managed: [string, unknown][] = []
  const unmanaged: [string, unknown][] = []
  for (const [name, value] of Object.entries(values)) {
    const path = `${above}${name}`
    const key = settingsKeys.find((known) => known.path === path)
    const isGroup = settingsKeys.some((known) => known.path.startsWith(`${path}.`))
    // A documented key with the value null is absent.
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
