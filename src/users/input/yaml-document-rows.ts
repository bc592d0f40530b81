import { stringify } from 'yaml'
import { Failure } from '../../contract/failure.ts'
import { locateYaml, UnreadableFile } from '../../contract/notation/locate-yaml.ts'
import { type Located, placesIn, plainValue } from '../../contract/notation/located.ts'
import { yamlWriting } from '../../contract/notation/yaml-scalars.ts'
import type { InputRow, RowReader } from './input-row.ts'
import { objectRow, offsetOf, type RowRules } from './object-row.ts'

/** In UTF-16 units. The parser holds about a hundred times as much. */
const maxLength = 4 * 1024 * 1024

/** About 20,000 users. Each repetition of an anchor counts. */
const bounds = { depth: 100, values: 200_000 }

/**
 * Reads a YAML document as a whole, so that anchors can be in one place and their aliases in another: a list of
 * users, or a map with such a list as `users`. The other keys of the map may hold anchors.
 */
export class YamlDocumentRows implements RowReader {
  readonly #name: string
  readonly #rules: RowRules
  #text = ''

  constructor(name: string, rules: RowRules) {
    this.#name = name
    this.#rules = rules
  }

  take(text: string, isLast: boolean): InputRow[] {
    this.#text += text
    if (this.#text.length > maxLength) throw tooLarge(`${this.#name} is larger than 4 MiB`)
    return isLast ? this.#read() : []
  }

  #read(): InputRow[] {
    const text = this.#text
    const placeOf = placesIn(text)
    const root = this.#locate(text)
    const users = root.kind === 'map' ? root.entries.find(({ key }) => key === 'users')?.value : root
    if (users?.kind !== 'list') {
      const { line, column } = placeOf(users?.at ?? root.at)
      throw new Failure('refused', `${this.#name}:${line}:${column}: expected a list of users`, {
        hint: 'Begin each user with "- ", below users: or at the left margin.',
      })
    }
    return users.items.map((item, index) => {
      const value = plainValue(item)
      // Without anchors, which are perhaps in another row.
      const raw = this.#rules.kind === 'managed users' ? '' : stringify([value], yamlWriting([value]))
      const source = { index, raw, start: placeOf(item.at) }
      return objectRow(source, value, this.#rules, (path) => placeOf(offsetOf(item, path)))
    })
  }

  #locate(text: string): Located {
    try {
      return locateYaml(text, bounds)
    } catch (error) {
      if (!(error instanceof UnreadableFile)) throw error
      const [{ at, words } = { at: 0, words: '' }] = error.faults
      const { line, column } = placesIn(text)(at)
      const message = `${this.#name}:${line}:${column}: ${words}`
      throw error.isTooLarge ? tooLarge(message) : new Failure('refused', message)
    }
  }
}

function tooLarge(message: string): Failure {
  return new Failure('refused', message, {
    hint: 'YAML with anchors, or below a key, is read as a whole. Split the file, or write a list without anchors.',
  })
}
