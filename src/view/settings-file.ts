import { Document, isMap, isScalar, type Pair, Scalar, visit, type YAMLMap } from 'yaml'
import { describeSettingsKey } from '../contract/settings-keys.ts'
import { settingsView } from './settings.ts'
import { visibleJson } from './strip-controls.ts'
import type { View } from './view.ts'

/** The settings as a YAML file that a person edits: each key under a comment that says what it is. */
export const settingsFileView: View = { ...settingsView, text: renderSettingsFile }

function renderSettingsFile(body: unknown): string {
  const { $unmanaged: unmanaged, ...settings } = body as { $unmanaged?: Record<string, unknown> }
  return renderManaged(settings) + (unmanaged ? renderUnmanaged(unmanaged) : '')
}

function renderManaged(settings: object): string {
  // Below the {} of an empty document nothing could be added.
  if (Object.keys(settings).length === 0) return `${heading.replace(/^/gm, '#')}\n`
  const document = new Document(settings)
  document.commentBefore = heading
  if (isMap(document.contents)) comment(document.contents as YAMLMap, [])
  quoteSpace(document)
  // Folded, a long text could not be changed as what it is.
  return document.toString({ lineWidth: 0 })
}

/** As comments, so that the file can be applied as it is: a service may have fields that change by themselves. */
function renderUnmanaged(unmanaged: Record<string, unknown>): string {
  const lines = Object.entries(unmanaged).map(([name, value]) => {
    const key = /^[\w-]+$/.test(name) ? name : visibleJson(name)
    return `#   ${key}: ${visibleJson(value)}\n`
  })
  return `#\n# The service also has the following, which chatctl cannot set:\n${lines.join('')}`
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

/** As a block, lines of white space alone would be read as its indentation (YAML 1.2.2 section 8.1.1.1). */
function quoteSpace(document: Document): void {
  visit(document, {
    Scalar: (_, scalar) => {
      if (typeof scalar.value === 'string' && scalar.value.trim() === '') scalar.type = Scalar.QUOTE_DOUBLE
    },
  })
}

function comment(map: YAMLMap, path: string[]): void {
  for (const { key, value } of map.items as Pair[]) {
    const here = [...path, String(key)]
    if (isMap(value)) comment(value as YAMLMap, here)
    else if (isScalar(key)) key.commentBefore = ` ${describeSettingsKey(here.join('.'))}`
  }
}
