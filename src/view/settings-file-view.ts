import { Document, isMap, isScalar, type Pair, type YAMLMap } from 'yaml'
import { describeSettingsKey } from '../contract/settings-keys.ts'
import { yamlWriting } from '../contract/yaml-scalars.ts'
import { visibleJson } from '../terminal/strip-controls.ts'
import { settingsView } from './settings.ts'
import type { View } from './view.ts'

/** The settings as a YAML file for people, with a comment above each key. */
export const settingsFileView: View = { ...settingsView, text: renderSettingsFile }

function renderSettingsFile(body: unknown): string {
  const { $unmanaged: unmanaged, ...settings } = body as { $unmanaged?: Record<string, unknown> }
  return renderManaged(settings) + (unmanaged ? renderUnmanaged(unmanaged) : '')
}

function renderManaged(settings: object): string {
  // After the {} of an empty document, no key can be added.
  if (Object.keys(settings).length === 0) return `${heading.replace(/^/gm, '#')}\n`
  const options = yamlWriting(settings)
  const document = new Document(settings, options)
  document.commentBefore = heading
  if (isMap(document.contents)) comment(document.contents as YAMLMap, [])
  // Folded text is hard to edit.
  return document.toString({ ...options, lineWidth: 0 })
}

/** Comments, so that applying the file does not send these fields. They may change by themselves. */
function renderUnmanaged(unmanaged: Record<string, unknown>): string {
  const lines = Object.entries(unmanaged).map(([name, value]) => {
    const key = /^[\w-]+$/.test(name) ? name : visibleJson(name)
    return `#   ${key}: ${visibleJson(value)}\n`
  })
  return `#\n# The service also has the following, which chatctl cannot set:\n${lines.join('')}`
}

/** Editors read the first line. The command on the second creates the schema that it names. */
const heading = [
  'yaml-language-server: $schema=./settings.schema.json',
  'To create the schema for your editor: chatctl settings schema > settings.schema.json',
  'To review the changes that this file makes, and to apply them:',
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
