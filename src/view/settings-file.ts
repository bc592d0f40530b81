import { Document, isMap, isScalar, type Pair, type YAMLMap } from 'yaml'
import { describeSettingsKey } from '../contract/settings-keys.ts'
import { settingsView } from './settings.ts'
import type { View } from './view.ts'

/** The settings as a YAML file that a person edits: each key under a comment that says what it is. */
export const settingsFileView: View = { ...settingsView, text: renderSettingsFile }

function renderSettingsFile(body: unknown): string {
  const document = new Document(body)
  document.commentBefore = ' Application settings: chatctl settings set KEY=VALUE changes one of them.'
  if (isMap(document.contents)) comment(document.contents as YAMLMap, [])
  return document.toString().trimEnd()
}

function comment(map: YAMLMap, path: string[]): void {
  for (const { key, value } of map.items as Pair[]) {
    const here = [...path, String(key)]
    if (isMap(value)) comment(value as YAMLMap, here)
    else if (isScalar(key)) key.commentBefore = ` ${describeSettingsKey(here.join('.'))}`
  }
}
