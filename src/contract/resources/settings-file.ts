import * as z from 'zod/mini'
import { type ApiConfiguration, apiConfiguration, type SettingsPatch, settingsPatch } from './settings.ts'

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
  settings: z.optional(settingsPatch.check(z.describe('Application settings'))),
  api: z.optional(apiConfiguration.check(z.describe('API configuration; it can be set but not read back'))),
})

/** JSON Schema (draft 2020-12) of a settings file in both layouts, with at least one key. */
export function settingsJsonSchema(): object {
  const { $schema, anyOf = [] } = z.toJSONSchema(z.union([bareSettingsFile, namedSettingsFile]), {
    override: ({ jsonSchema }) => dropDoubleBounds(jsonSchema),
  })
  return {
    $schema,
    title: 'chatctl settings file',
    description: 'Settings of an AI chat service. Only the keys in the file are managed.',
    anyOf: anyOf.map((layout) => ({ ...layout, ...requireKey(layout as ObjectSchema) })),
  }
}

/** An integer may exceed the range of doubles: see `ExactNumber`. */
function dropDoubleBounds(schema: { minimum?: number; maximum?: number }): void {
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum
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
