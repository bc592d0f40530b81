import { Failure } from '../../contract/failure.ts'
import { checkShape, faultsOf } from '../../contract/faults.ts'
import { nearest } from '../../contract/nearest-word.ts'
import { locateJson } from '../../contract/notation/locate-json.ts'
import { fileBounds, locateYaml, UnreadableFile } from '../../contract/notation/locate-yaml.ts'
import {
  type FilePosition,
  type Located,
  type LocatedMap,
  type LocatedScalar,
  placesIn,
} from '../../contract/notation/located.ts'
import { expandReferences, joinLines } from '../../contract/notation/text.ts'
import { parseValue } from '../../contract/notation/text-value.ts'
import { nest } from '../../contract/notation/tree.ts'
import type { ApiConfiguration, SettingsPatch } from '../../contract/resources/settings.ts'
import {
  apiConfigurationKeys,
  isPathName,
  isUndocumentedKey,
  type SettingsFile,
  type SettingsKey,
  settingsKeys,
} from '../../contract/resources/settings-file.ts'

/** A settings file, or one layer of several. */
export interface SettingsSource {
  /** For errors. The file extension .json selects JSON, any other YAML 1.2. */
  name: string
  text: string
}

/** How a settings file is read. */
interface ReadOptions {
  /** For `${NAME}` references in strings (default: references are not expanded). */
  env?: NodeJS.ProcessEnv | undefined
  /** Whether the settings may have undocumented ones. */
  allowsUnknownKeys?: boolean
}

export interface FileFault extends FilePosition {
  file: string
  /** Dotted; empty for the file as a whole. */
  path: string
  message: string
}

/**
 * Reads layers of settings. Keys of later layers override those of earlier ones; lists are replaced as a whole.
 * @throws Failure `refused` with every fault of every layer, or if the layers contain no key
 */
export function readSettingsFiles(
  sources: readonly SettingsSource[],
  options: ReadOptions = {},
): SettingsFile {
  const settings = new Map<string, unknown>()
  const api = new Map<string, unknown>()
  const faults: FileFault[] = []
  let hint: string | undefined
  for (const { name, text } of sources) {
    const layer = new LayerReader(text, options)
    layer.read(name)
    for (const [path, value] of layer.settings) {
      // The last of two undocumented keys applies, also if one contains the other.
      settings.delete(path)
      settings.set(path, value)
    }
    for (const [path, value] of layer.api) api.set(path, value)
    const placeOf = placesIn(text)
    for (const { at, path, message, ...fault } of layer.faults.toSorted((a, b) => a.at - b.at)) {
      faults.push({ file: name, ...placeOf(at), path, message })
      hint ??= fault.hint
    }
  }
  if (faults.length > 0) throw faultyFiles(faults, hint)
  if (settings.size + api.size === 0) {
    const names = sources.map(({ name }) => name).join(', ')
    throw new Failure('refused', `No settings in ${names}`, {
      hint: 'Create a file to start from with: chatctl settings export settings.yaml',
    })
  }
  return { settings: nest(settings) as SettingsPatch, api: nest(api) as ApiConfiguration }
}

function locate(name: string, text: string): Located {
  if (!/\.json$/i.test(name)) return locateYaml(text)
  // An empty file is valid, as in YAML.
  const { root, fault, repeated } = locateJson(text.trim() === '' ? '{}' : text, fileBounds)
  if (fault) throw new UnreadableFile([fault])
  if (repeated.length > 0 || root === undefined) {
    throw new UnreadableFile(repeated.map(({ at, name: key }) => ({ at, words: `duplicate key ${key}` })))
  }
  return root
}

/** Maximum number of faults in the message. The details contain all. */
const maxInMessage = 20

function faultyFiles(faults: readonly FileFault[], hint: string | undefined): Failure {
  const lines = faults
    .slice(0, maxInMessage)
    .map(
      ({ file, line, column, path, message }) =>
        `${file}:${line}:${column}: ${path ? `${path} ` : ''}${message}`,
    )
  if (faults.length > maxInMessage) lines.push(`and ${faults.length - maxInMessage} more`)
  const words =
    faults.length === 1 ? joinLines(lines) : `${faults.length} errors; nothing was sent:\n${joinLines(lines)}`
  return new Failure('refused', words, { details: { faults }, hint })
}

export const allowUnknownKeys = 'If the service has this undocumented setting, pass --allow-unknown-keys.'

/** A fault of a value, with its offset in the text. */
interface LocatedFault {
  at: number
  /** Dotted, as `settings set` takes it; keys of the API configuration begin with `api.`. */
  path: string
  message: string
  hint?: string | undefined
}

interface Part {
  name: 'settings' | 'api'
  keys: readonly SettingsKey[]
}
const settings: Part = { name: 'settings', keys: settingsKeys }
const api: Part = { name: 'api', keys: apiConfigurationKeys }

/** Reads the leaves of one settings file, by dotted path from the root of the part. */
class LayerReader {
  readonly settings = new Map<string, unknown>()
  readonly api = new Map<string, unknown>()
  readonly faults: LocatedFault[] = []
  readonly #text: string
  readonly #env: NodeJS.ProcessEnv | undefined
  readonly #allowsUnknownKeys: boolean

  constructor(text: string, { env, allowsUnknownKeys = false }: ReadOptions) {
    this.#text = text
    this.#env = env
    this.#allowsUnknownKeys = allowsUnknownKeys
  }

  /** @param name of the file */
  read(name: string): void {
    try {
      this.#readRoot(locate(name, this.#text))
    } catch (error) {
      if (!(error instanceof UnreadableFile)) throw error
      for (const { at, words } of error.faults) this.#fault(at, '', words)
    }
  }

  #readRoot(root: Located): void {
    // The file is empty or has only comments.
    if (isNull(root) && root.end === root.at) return
    if (root.kind !== 'map') return void this.#fault(root.at, '', 'the file must be an object of settings')
    const { entries: all } = root
    const [link, unmanaged] = ['$schema', '$unmanaged'].map((name) => all.find(({ key }) => key === name))
    if (link && (link.value.kind !== 'scalar' || typeof link.value.value !== 'string'))
      this.#fault(link.value.at, '$schema', 'must be a string')
    if (unmanaged && unmanaged.value.kind !== 'map')
      this.#fault(unmanaged.value.at, '$unmanaged', 'must be an object')
    const entries = all.filter((entry) => entry !== link && entry !== unmanaged)
    const parts = entries.filter(({ key }) => key === 'settings' || key === 'api')
    if (parts.length === 0) this.#readGroup(entries, '', settings)
    else
      for (const entry of entries) {
        if (!parts.includes(entry)) this.#unknown(entry, '', settings)
        else this.#readBranch(entry.value, entry.key, '', entry.key === 'api' ? api : settings)
      }
  }

  /** @param shown the path of the branch in a fault */
  #readBranch(value: Located, shown: string, path: string, part: Part): void {
    if (isNull(value)) this.#noValue(value, shown)
    else if (value.kind === 'map') this.#readGroup(value.entries, path, part)
    else this.#fault(value.at, shown, 'must be an object')
  }

  #readGroup(entries: LocatedMap['entries'], above: string, part: Part): void {
    for (const entry of entries) {
      const path = `${above}${entry.key}`
      const key = part.keys.find((known) => known.path === path)
      if (this.#allowsUnknownKeys && part === settings && isUndocumentedKey(path))
        this.#readUndocumented(entry, path)
      else if (entry.key.includes('.') || !isKnown(part, path)) this.#unknown(entry, above, part)
      else if (key) this.#readLeaf(entry.value, key, part)
      else this.#readBranch(entry.value, shownPath(part, path), `${path}.`, part)
    }
  }

  /** A value of any JSON type. Objects are groups of keys, as in the documented settings. */
  #readUndocumented({ key, keyAt, value }: LocatedMap['entries'][number], path: string): void {
    if (!isPathName(key)) this.#fault(keyAt, path, 'has an empty name, or a name with a dot')
    else if (value.kind === 'map')
      for (const entry of value.entries) this.#readUndocumented(entry, `${path}.${entry.key}`)
    else this.settings.set(path, this.#value(value, path))
  }

  #readLeaf(located: Located, key: SettingsKey, part: Part): void {
    const path = shownPath(part, key.path)
    const before = this.faults.length
    const value = this.#value(located, path, key)
    if (this.faults.length > before) return
    const parsed = checkShape(key.schema, value)
    if (parsed.success) {
      this[part.name].set(key.path, parsed.data)
      return
    }
    const messages = faultsOf(parsed.error).map(({ message }) => message)
    for (const [index, { code, path: steps }] of parsed.error.issues.entries()) {
      const [step] = steps
      const item = located.kind === 'list' ? located.items[Number(step)] : undefined
      const given = item === undefined ? value : (value as unknown[])[Number(step)]
      const isUnexpanded = code === 'invalid_type' && !this.#env && String(given).includes('${')
      const type = item === undefined ? key.type : 'string'
      const typed = `must be ${typeNames[type]}${isUnexpanded ? '; references are not expanded' : ''}`
      const words = code === 'invalid_type' ? typed : messages[index]
      const hint = isUnexpanded
        ? 'To expand references to environment variables, use --expand-env.'
        : undefined
      const shown = item === undefined ? path : `${path}.${String(step)}`
      this.#fault((item ?? located).at, shown, words ?? 'is not allowed', hint)
    }
  }

  /** @param key undefined for an undocumented key, whose value may have any JSON type */
  #value(located: Located, path: string, key?: SettingsKey): unknown {
    if (located.kind === 'map') {
      if (key) return {}
      return Object.fromEntries(located.entries.map((one) => [one.key, this.#value(one.value, path)]))
    }
    if (located.kind === 'list')
      return located.items.map((item, index) =>
        key && item.kind === 'list' ? [] : this.#value(item, key ? `${path}.${index}` : path, key),
      )
    const isWritten = !key && /^(null|Null|NULL|~)$/.test(this.#text.slice(located.at, located.end))
    if (isNull(located) && !isWritten) this.#noValue(located, path)
    if (this.#env === undefined || typeof located.value !== 'string') return located.value
    const { text, expanded, faults } = expandReferences(located.value, this.#env)
    for (const { words } of faults) this.#fault(located.at, path, words)
    return key && expanded ? parseValue(key.type, text) : text
  }

  #noValue({ at, comment }: LocatedScalar, path: string): void {
    const hint = comment && 'A # begins a comment. Put the value in quotes, such as "#3366FF".'
    this.#fault(comment ?? at, path, 'has no value', hint || undefined)
  }

  #unknown({ key, keyAt }: { key: string; keyAt: number }, above: string, part: Part): void {
    const path = `${above}${key}`
    const place = placeOf(path, key)
    const meant = place === undefined ? nearest(path, knownPaths(part)) : undefined
    const more = meant === undefined ? '' : `; did you mean ${shownPath(part, meant)}?`
    const words = place === undefined ? `is an unknown key${more}` : `must be below ${place}`
    const isOffered = place === undefined && part === settings && !this.#allowsUnknownKeys
    this.#fault(keyAt, shownPath(part, path), words, isOffered ? allowUnknownKeys : undefined)
  }

  #fault(at: number, path: string, message: string, hint?: string): void {
    this.faults.push({ at, path, message, hint })
  }
}

/** The group or part that a known key belongs to, if it is elsewhere. */
function placeOf(path: string, key: string): string | undefined {
  if (isKnown(settings, path)) return key.includes('.') ? path.slice(0, path.lastIndexOf('.')) : 'settings'
  return isKnown(api, path) ? 'api' : undefined
}

const typeNames = {
  string: 'a string in quotes',
  boolean: 'true or false',
  integer: 'an integer without quotes',
  list: 'a list',
}

function isNull(value: Located): value is LocatedScalar & { value: null } {
  return value.kind === 'scalar' && value.value === null
}

function shownPath(part: Part, path: string): string {
  return part === api ? `api.${path}` : path
}

/** The paths of leaves and of the objects that contain them. */
function knownPaths({ keys }: Part): string[] {
  return [...new Set(keys.flatMap(({ path }) => [path.split('.')[0] ?? '', path]))]
}

function isKnown(part: Part, path: string): boolean {
  return knownPaths(part).includes(path)
}
