import { Document, isMap, isScalar, type Pair, type YAMLMap } from 'yaml'
import { describeSettingsKey } from '../contract/settings-keys.ts'
import { yamlWriting } from '../contract/yaml-scalars.ts'
import { settingsView } from './settings.ts'
import type { View } from './view.ts'

/** The settings as a YAML file that a person edits: each key under a comment that says what it is. */
export const settingsFileView: View = { ...settingsView, text: renderSettingsFile }

function renderSettingsFile(body: unknown): string {
  // Below the {} of an empty document nothing could be added.
  if (Object.keys(body as object).length === 0) return heading.replace(/^/gm, '#')
  const options = yamlWriting(body)
  const document = new Document(body, options)
  document.commentBefore = heading
  if (isMap(document.contents)) comment(document.contents as YAMLMap, [])
  // Folded, a long text could not be changed as what it is.
  return document.toString({ ...options, lineWidth: 0 })
}

/** Editors look for the first line; the file that it names is made by the second. */
const heading = [
  'yaml-language-server: $schema=./settings.schema.json',
  'The schema, for editors: chatctl settings schema > settings.schema.json',
  'To see what this file would change, and to change it:',
  '  chatctl settings diff settings.yaml',
  '  chatctl settings apply settings.yaml',
]
  .map((line) => ` ${line}`)
  .join('\n')

function comment(map: YAMLMap, path: string[]): void {
  for (const { key, value } of map.items as Pair[]) {
    const here = [...path, String(key)]
    if (isMap(value)) comment(value as YAMLMap, here)
    else if (isScalar(key)) key.commentBefore = ` ${describeSettingsKey(here.join('.'))}`
  }
}
