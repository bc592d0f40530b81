import { Failure, type Help } from '../../contract/failure.ts'
import { locateJson } from '../../contract/notation/locate-json.ts'
import { fileBounds, locateYaml, UnreadableFile } from '../../contract/notation/locate-yaml.ts'
import { type FilePosition, type Located, placesIn } from '../../contract/notation/located.ts'
import type { ApiConfiguration, SettingsPatch } from '../../contract/resources/settings.ts'
import type { SettingsFile } from '../../contract/resources/settings-file.ts'
import { patchOf } from '../plan.ts'
import { checkLayer, type Layer, type ReadOptions } from './check-layer.ts'

/** A settings file, or one layer of several. */
export interface SettingsSource {
  /** For errors. The file extension .json selects JSON, any other YAML 1.2. */
  name: string
  text: string
}

/** One fault of a settings file. */
export interface FileFault extends FilePosition {
  file: string
  /** Dotted; empty for the file as a whole. */
  path: string
  message: string
}

/**
 * Reads layers of settings. Keys of later layers override those of earlier ones; lists are replaced as a whole.
 *
 * @throws Failure `refused` with every fault of every layer, or if the layers contain no key
 */
export function readSettingsFiles(
  sources: readonly SettingsSource[],
  options: ReadOptions = {},
): SettingsFile {
  const settings = new Map<string, unknown>()
  const api = new Map<string, unknown>()
  const faults: FileFault[] = []
  let help: Help = {}
  for (const source of sources) {
    const layer = readLayer(source, options)
    for (const [path, value] of layer.settings) {
      // The last of two undocumented keys applies, also if one contains the other.
      settings.delete(path)
      settings.set(path, value)
    }
    for (const [path, value] of layer.api) api.set(path, value)
    const placeOf = placesIn(source.text)
    for (const { at, path, message, hint, advice } of layer.faults.toSorted(byPlace)) {
      faults.push({ file: source.name, ...placeOf(at), path, message })
      help = { hint: help.hint ?? hint, advice: help.advice ?? (advice && [advice]) }
    }
  }
  if (faults.length > 0) throw faultyFiles(faults, help)
  if (settings.size + api.size === 0) {
    const names = sources.map(({ name }) => name)
    throw new Failure('refused', `No settings in ${names.join(', ')}`, {
      advice: [{ code: 'export_settings' }],
    })
  }
  return { settings: patchOf(settings) as SettingsPatch, api: patchOf(api) as ApiConfiguration }
}

function byPlace(one: { at: number }, other: { at: number }): number {
  return one.at - other.at
}

function readLayer({ name, text }: SettingsSource, options: ReadOptions): Layer {
  try {
    return checkLayer(locate(name, text), text, options)
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error
    const faults = error.faults.map(({ at, words }) => ({ at, path: '', message: words }))
    return { settings: new Map(), api: new Map(), faults }
  }
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

function faultyFiles(faults: readonly FileFault[], help: Help): Failure {
  const lines = faults
    .slice(0, maxInMessage)
    .map(
      ({ file, line, column, path, message }) =>
        `${file}:${line}:${column}: ${path ? `${path} ` : ''}${message}`,
    )
  if (faults.length > maxInMessage) lines.push(`and ${faults.length - maxInMessage} more`)
  const words =
    faults.length === 1 ? lines[0] : `${faults.length} errors; nothing was sent:\n${lines.join('\n')}`
  return new Failure('refused', words ?? '', { details: { faults }, ...help })
}
