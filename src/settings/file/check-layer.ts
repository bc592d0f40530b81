import type { Advice } from '../../contract/advice.ts'
import { checkShape, faultsOf } from '../../contract/faults.ts'
import { nearest } from '../../contract/nearest-word.ts'
import type { Located, LocatedMap, LocatedScalar } from '../../contract/notation/located.ts'
import { type Expansion, expandReferences } from '../../contract/notation/text.ts'
import { parseValue } from '../../contract/notation/text-value.ts'
import {
  apiConfigurationKeys,
  isPathName,
  isUndocumentedKey,
  type SettingsKey,
  settingsKeys,
} from '../../contract/resources/settings-file.ts'

/** A fault of a value, with its offset in the text. */
interface LocatedFault {
  at: number
  /** Dotted, as `settings set` takes it; keys of the API configuration begin with `api.`. */
  path: string
  message: string
  hint?: string
  advice?: Advice
}

/** The leaves of one settings file, by dotted path from the root of the part, and its faults. */
export interface Layer {
  settings: Map<string, unknown>
  api: Map<string, unknown>
  faults: LocatedFault[]
}

/** How a settings file is read. */
export interface ReadOptions {
  /** For `${NAME}` references in strings (default: references are not expanded). */
  env?: NodeJS.ProcessEnv | undefined
  /** Whether the settings may have keys that the interface does not document. */
  allowsUnknownKeys?: boolean
}

export function checkLayer(root: Located, text: string, options: ReadOptions): Layer {
  const check = new LayerCheck(text, options)
  check.readRoot(root)
  return check.layer
}

interface Part {
  name: 'settings' | 'api'
  keys: readonly SettingsKey[]
}
const settings: Part = { name: 'settings', keys: settingsKeys }
const api: Part = { name: 'api', keys: apiConfigurationKeys }

class LayerCheck {
  readonly layer: Layer = { settings: new Map(), api: new Map(), faults: [] }
  readonly #text: string
  readonly #env: NodeJS.ProcessEnv | undefined
  readonly #allowsUnknownKeys: boolean

  constructor(text: string, { env, allowsUnknownKeys = false }: ReadOptions) {
    this.#text = text
    this.#env = env
    this.#allowsUnknownKeys = allowsUnknownKeys
  }

  readRoot(root: Located): void {
    // The file is empty or has only comments.
    if (isNull(root) && root.end === root.at) return
    if (root.kind === 'map') this.#readLayout(root)
    else this.#fault(root.at, '', 'the file must contain an object of settings')
  }

  #readLayout({ entries: all }: LocatedMap): void {
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
    else this.layer.settings.set(path, this.#jsonValue(value, path))
  }

  #jsonValue(located: Located, path: string): unknown {
    if (located.kind === 'list') return located.items.map((item) => this.#jsonValue(item, path))
    if (located.kind === 'map')
      return Object.fromEntries(located.entries.map(({ key, value }) => [key, this.#jsonValue(value, path)]))
    const isWritten = /^(null|Null|NULL|~)$/.test(this.#text.slice(located.at, located.end))
    if (isNull(located) && !isWritten) this.#noValue(located, path)
    if (this.#env === undefined || typeof located.value !== 'string') return located.value
    return this.#expand(located, located.value, this.#env, path).text
  }

  #readLeaf(located: Located, key: SettingsKey, part: Part): void {
    const path = shownPath(part, key.path)
    const { faults } = this.layer
    const before = faults.length
    const value = this.#plain(located, key, path)
    if (faults.length > before) return
    const parsed = checkShape(key.schema, value)
    if (parsed.success) {
      this.layer[part.name].set(key.path, parsed.data)
      return
    }
    const messages = faultsOf(parsed.error).map(({ message }) => message)
    for (const [index, { code, path: steps }] of parsed.error.issues.entries()) {
      const [step] = steps
      const item = located.kind === 'list' && typeof step === 'number' ? located.items[step] : undefined
      const given = item === undefined ? value : (value as unknown[])[step as number]
      const isUnexpanded = code === 'invalid_type' && this.#isUnexpanded(given)
      const type = item === undefined ? key.type : 'string'
      const words = code === 'invalid_type' ? typeWords(type, given, isUnexpanded) : messages[index]
      const advice = isUnexpanded ? { code: 'expand_references' as const } : undefined
      const shown = item === undefined ? path : `${path}.${String(step)}`
      this.#fault((item ?? located).at, shown, words ?? 'is not allowed', advice)
    }
  }

  #plain(located: Located, key: SettingsKey, path: string): unknown {
    if (located.kind === 'map') return {}
    if (located.kind === 'list')
      return located.items.map((item, index) =>
        item.kind === 'list' ? [] : this.#plain(item, key, `${path}.${index}`),
      )
    if (isNull(located)) this.#noValue(located, path)
    if (this.#env === undefined || typeof located.value !== 'string') return located.value
    const { text, expanded } = this.#expand(located, located.value, this.#env, path)
    return expanded ? parseValue(key.type, text) : text
  }

  #expand(located: LocatedScalar, value: string, env: NodeJS.ProcessEnv, path: string): Expansion {
    const expansion = expandReferences(value, env)
    let from = located.at
    for (const { reference, words } of expansion.faults) {
      const at = this.#text.indexOf(reference, from)
      // The source may contain the reference with escapes.
      const isFound = at >= 0 && at < located.end
      this.#fault(isFound ? at : located.at, path, words)
      if (isFound) from = at + 1
    }
    return expansion
  }

  #isUnexpanded(value: unknown): boolean {
    return typeof value === 'string' && this.#env === undefined && value.includes('${')
  }

  #noValue({ at, comment }: LocatedScalar, path: string): void {
    const help = comment === undefined ? {} : { hint: commentHint }
    this.layer.faults.push({ at: comment ?? at, path, message: 'has no value', ...help })
  }

  #unknown({ key, keyAt }: { key: string; keyAt: number }, above: string, part: Part): void {
    const path = `${above}${key}`
    const place = placeOf(path, key)
    const meant = place === undefined ? nearest(path, knownPaths(part)) : undefined
    const more = meant === undefined ? '' : `; did you mean ${shownPath(part, meant)}?`
    const words = place === undefined ? `is an unknown key${more}` : `must be below ${place}`
    const isOffered = place === undefined && part === settings && !this.#allowsUnknownKeys
    this.#fault(keyAt, shownPath(part, path), words, isOffered ? { code: 'allow_unknown_keys' } : undefined)
  }

  #fault(at: number, path: string, message: string, advice?: Advice): void {
    this.layer.faults.push({ at, path, message, ...(advice && { advice }) })
  }
}

/** The group or part that a known key belongs to, if it is elsewhere. */
function placeOf(path: string, key: string): string | undefined {
  if (isKnown(settings, path)) return key.includes('.') ? path.slice(0, path.lastIndexOf('.')) : 'settings'
  return isKnown(api, path) ? 'api' : undefined
}

function typeWords(type: SettingsKey['type'], value: unknown, isUnexpanded: boolean): string {
  if (isUnexpanded) return `must be ${typeNames[type]}; \${NAME} is not expanded`
  if (type === 'boolean') return 'must be a boolean: write true or false'
  if (type === 'integer' && typeof value === 'string' && /^[+-]?\d+$/.test(value))
    return 'must be an integer: remove the quotes'
  if (type === 'string' && /^(number|boolean)$/.test(typeof value))
    return 'must be a string: put it in quotes'
  return `must be ${typeNames[type]}`
}

const commentHint = 'A # begins a comment. Put the value in quotes, such as "#3366FF".'

const typeNames = { string: 'a string', boolean: 'a boolean', integer: 'an integer', list: 'a list' }

function isNull(value: Located): value is LocatedScalar & { value: null } {
  return value.kind === 'scalar' && value.value === null
}

function shownPath(part: Part, path: string): string {
  return part === api ? `api.${path}` : path
}

/** The paths of leaves and of the objects that contain them. */
function knownPaths({ keys }: Part): string[] {
  const groups = keys.filter(({ path }) => path.includes('.')).map(({ path }) => path.split('.')[0] ?? '')
  return [...new Set([...groups, ...keys.map(({ path }) => path)])]
}

function isKnown(part: Part, path: string): boolean {
  return knownPaths(part).includes(path)
}
