import * as z from 'zod/mini'
import { type ApiConfiguration, apiConfiguration } from './api-configuration.ts'
import { type SettingsPatch, settingsPatch } from './settings.ts'

/** What a settings file manages: its keys and no others. Both may be empty. */
export interface SettingsFile {
  settings: SettingsPatch
  api: ApiConfiguration
}

const schemaLink = z.optional(
  z.string().check(z.describe('Where an editor finds the JSON Schema of this file')),
)

/** The form of a file with the settings at the top. */
const bareSettingsFile = z.extend(settingsPatch, { $schema: schemaLink })

/** The form of a file that has a name for each part. */
export const namedSettingsFile = z.strictObject({
  $schema: schemaLink,
  settings: z.optional(settingsPatch.check(z.describe('Application settings'))),
  api: z.optional(
    apiConfiguration.check(z.describe('API configuration; it can be set, but not be read back')),
  ),
})

/** JSON Schema (draft 2020-12) of a settings file, in both of its forms: any subset of the keys. */
export function settingsJsonSchema(): object {
  const { $schema, anyOf } = z.toJSONSchema(z.union([bareSettingsFile, namedSettingsFile]))
  return {
    $schema,
    title: 'chatctl settings file',
    description: 'Settings of an AI chat service; only the keys that are in the file are managed.',
    anyOf,
  }
}
