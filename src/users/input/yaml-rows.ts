import type yaml from 'yaml'
import type { Document, Node } from 'yaml'
import { Failure } from '../../contract/failure.ts'
import { yamlReading } from '../../contract/notation/yaml-scalars.ts'
import type { FieldPath } from '../rows/check-row.ts'
import { isPlainObject } from '../rows/read-object.ts'
import type { InputRow, RowReader } from './input-row.ts'
import { objectRow, type RowRules } from './object-row.ts'
import { placeAfter } from './row-place.ts'
import { type YamlPart, YamlParts } from './yaml-parts.ts'

type Yaml = typeof yaml

/** Reads YAML: a list, or documents that are rows or lists. */
export class YamlRows implements RowReader {
  readonly #name: string
  readonly #rules: RowRules
  readonly #yaml: Yaml
  readonly #parts: YamlParts
  #index = 0

  constructor(name: string, rules: RowRules, yaml: Yaml) {
    this.#name = name
    this.#rules = rules
    this.#yaml = yaml
    this.#parts = new YamlParts(name)
  }

  take(text: string, isLast: boolean): InputRow[] {
    return this.#parts.take(text, isLast).flatMap((part) => this.#read(part))
  }

  #read(part: YamlPart): InputRow[] {
    const { line, raw } = part
    // The messages of the parser may quote a password, so they are neither shown nor logged.
    const document = this.#yaml.parseDocument(raw, { ...yamlReading, prettyErrors: false, logLevel: 'error' })
    const broken = (offset: number, message: string): InputRow[] => {
      // A fault at the end belongs to this row, not to the line after it.
      const before = raw.slice(0, Math.min(offset, raw.trimEnd().length))
      const fault = { ...placeAfter({ line, column: 1 }, before), message }
      return [{ index: this.#index++, line, row: undefined, faults: [fault], raw: asItem(part) }]
    }
    const [problem] = [...document.errors, ...document.warnings]
    if (problem) {
      return broken(problem.pos[0], `invalid YAML: ${problem.code.toLowerCase().replaceAll('_', ' ')}`)
    }
    const alias = findStrayAlias(document, this.#yaml)
    if (alias !== undefined)
      return broken(alias, 'unknown alias: its anchor is in another row or does not exist')
    let value: unknown
    try {
      value = document.toJS()
    } catch {
      return broken(0, 'too large: its aliases expand to too many values')
    }
    if (part.type === 'item' && Array.isArray(value)) return [this.#row(part, document, value[0], [0])]
    if (isPlainObject(value) && !Array.isArray(value['users'])) {
      return [this.#row(part, document, value, [])]
    }
    throw new Failure('refused', `${this.#name}:${line}:1: expected a list of ${this.#rules.kind}`, {
      hint: 'Begin each row with "- " at the left margin.',
    })
  }

  #row(part: YamlPart, document: Document, value: unknown, prefix: FieldPath): InputRow {
    const base = { line: part.line, column: 1 }
    const source = { index: this.#index++, raw: asItem(part), start: base }
    return objectRow(source, value, this.#rules, (path) =>
      placeAfter(base, part.raw.slice(0, this.#offsetOf(document, [...prefix, ...path]))),
    )
  }

  /** The offset of a field or an item of a list. */
  #offsetOf(document: Document, path: FieldPath): number {
    let node: unknown = document.contents
    let offset = 0
    for (const step of path) {
      if (this.#yaml.isMap(node)) {
        const pair = node.items.find(({ key }) => String(this.#yaml.isScalar(key) ? key.value : key) === step)
        offset = rangeStart(pair?.key) ?? offset
        node = pair?.value
      } else if (this.#yaml.isSeq(node)) {
        node = node.items[Number(step)]
        offset = rangeStart(node) ?? offset
      } else break
    }
    return offset
  }
}

function rangeStart(node: unknown): number | undefined {
  return (node as Node | undefined)?.range?.[0]
}

/** The offset of an alias without an anchor before it. */
function findStrayAlias(document: Document, { visit }: Yaml): number | undefined {
  let offset: number | undefined
  visit(document, {
    Alias: (_, alias) => {
      if (alias.resolve(document)) return undefined
      offset = alias.range?.[0]
      return visit.BREAK
    },
  })
  return offset
}

/** The text of a part in a file of failed rows. A document needs markers between items of a list. */
function asItem({ type, raw }: YamlPart): string {
  if (type === 'item') return raw
  return `${raw.startsWith('---') ? '' : '---\n'}${raw}---\n`
}
