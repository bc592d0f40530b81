import { Document, isMap, isScalar, type Pair, type YAMLMap } from 'yaml'
import { isRecord } from '../contract/notation/exact-json.ts'
import { yamlWriting } from '../contract/notation/yaml-scalars.ts'
import {
  describeSettingsKey,
  isPathName,
  isUndocumentedKey,
  settingsKeys,
} from '../contract/resources/settings-file.ts'
import { visibleJson } from '../terminal/strip-controls.ts'
import type { View } from './format/view.ts'
import { settingsView } from './settings.ts'

/** The settings as a YAML file with comments. Used by `settings edit` and `settings export`. */
export const settingsFileView: View = { ...settingsView, text: renderSettingsFile }

type Fields = Record<string, unknown>

function renderSettingsFile(body: unknown): string {
  const { $unmanaged: unmanaged = {}, ...settings } = body as { $unmanaged?: Fields }
  const { undocumented, refused } = separate(unmanaged)
  return (
    renderManaged(settings, undocumented) +
    renderUndocumented(undocumented, settings) +
    renderRefused(refused)
  )
}

/** @param undocumented fields that are added to the groups as comments */
function renderManaged(settings: Fields, undocumented: Fields): string {
  // After the {} of an empty document, no key can be added.
  if (Object.keys(settings).length === 0) return `${heading.replace(/^/gm, '#')}\n`
  const options = yamlWriting(settings)
  const document = new Document(settings, options)
  document.commentBefore = heading
  if (isMap(document.contents)) comment(document.contents as YAMLMap, [], undocumented)
  // Folded text is hard to edit.
  return document.toString({ ...options, lineWidth: 0 })
}

/**
 * Separates the fields that can be set although they are not documented from the others: values that chatctl would
 * refuse to send, and names that no settings file can have.
 */
function separate(unmanaged: Fields): { undocumented: Fields; refused: Fields } {
  const undocumented: [string, unknown][] = []
  const refused: [string, unknown][] = []
  const add = (name: string, value: unknown, isSettable: boolean) =>
    (isSettable ? undocumented : refused).push([name, value])
  for (const [name, value] of Object.entries(unmanaged)) {
    if (isRecord(value) && settingsKeys.some(({ path }) => path.startsWith(`${name}.`))) {
      const isSettable = ([inner, one]: [string, unknown]) => canBeSet(`${name}.${inner}`, inner, one)
      const inner = Object.entries(value)
      const settable = inner.filter(isSettable)
      const others = inner.filter((entry) => !isSettable(entry))
      if (settable.length > 0) add(name, Object.fromEntries(settable), true)
      if (others.length > 0) add(name, Object.fromEntries(others), false)
    } else add(name, value, !/^(settings$|api$|\$)/.test(name) && canBeSet(name, name, value))
  }
  return { undocumented: Object.fromEntries(undocumented), refused: Object.fromEntries(refused) }
}

function canBeSet(path: string, name: string, value: unknown): boolean {
  return isUndocumentedKey(path) && isPathName(name) && hasPathNames(value)
}

function hasPathNames(value: unknown): boolean {
  return (
    !isRecord(value) ||
    Object.entries(value).every(([name, inner]) => isPathName(name) && hasPathNames(inner))
  )
}

/** Comments, so that applying the file does not send these fields. They may change by themselves. */
function renderUndocumented(undocumented: Fields, settings: Fields): string {
  // The comments of the groups contain the others.
  const lines = Object.entries(undocumented).filter(
    ([name]) => !(Object.hasOwn(settings, name) && isRecord(settings[name])),
  )
  return lines.map(([name, value]) => `#${undocumentedLine(name, value)}\n`).join('')
}

/** A line of a comment that becomes a key of the file when its # is removed. */
function undocumentedLine(name: string, value: unknown): string {
  return ` ${fieldText(name, value)} # undocumented; apply with --allow-unknown-keys`
}

function renderRefused(refused: Fields): string {
  const lines = Object.entries(refused).map(([name, value]) => `#   ${fieldText(name, value)}\n`)
  if (lines.length === 0) return ''
  return `#\n# The service also has the following, which chatctl cannot set:\n${lines.join('')}`
}

/** A field as YAML on one line. */
function fieldText(name: string, value: unknown): string {
  const isPlain = /^[a-z_][\w-]*$/i.test(name) && !/^(true|false|null|yes|no|on|off|y|n)$/i.test(name)
  return `${isPlain ? name : visibleJson(name)}: ${visibleJson(value)}`
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

/** @param undocumented fields of the same objects */
function comment(map: YAMLMap, path: string[], undocumented: Fields): void {
  for (const { key, value } of map.items as Pair[]) {
    const here = [...path, String(key)]
    if (isMap(value)) {
      const inner = undocumented[String(key)]
      const fields = isRecord(inner) ? inner : {}
      comment(value as YAMLMap, here, fields)
      const lines = Object.entries(fields).map(([name, one]) => undocumentedLine(name, one))
      if (lines.length > 0) value.comment = lines.join('\n')
    } else if (isScalar(key)) key.commentBefore = ` ${describeSettingsKey(here.join('.'))}`
  }
}
