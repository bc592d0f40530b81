import type yaml from 'yaml'
import type { Document, Node } from 'yaml'
import { Failure } from '../../contract/failure.ts'
import { yamlReading } from '../../contract/yaml-scalars.ts'
import type { FieldPath } from '../rows/judge-row.ts'
import { isPlainObject } from '../rows/read-object.ts'
import { type InputRow, placeAfter, type RowReader } from './input-row.ts'
import { type Judgement, objectRow } from './object-row.ts'
import { type YamlPart, YamlParts } from './yaml-parts.ts'

type Yaml = typeof yaml

/** Reads YAML: a list, or documents of which each is a row or a list. */
export class YamlRows implements RowReader {
  readonly #name: string
  readonly #judgement: Judgement
  readonly #yaml: Yaml
  readonly #parts: YamlParts
  #index = 0

  constructor(name: string, judgement: Judgement, yaml: Yaml) {
    this.#name = name
    this.#judgement = judgement
    this.#yaml = yaml
    this.#parts = new YamlParts(name)
  }

  take(text: string, isLast: boolean): InputRow[] {
    return this.#parts.take(text, isLast).flatMap((part) => this.#read(part))
  }

  #read(part: YamlPart): InputRow[] {
    const { line, raw } = part
    // Its words quote the text, which may hold a password; nor may it write any itself.
    const document = this.#yaml.parseDocument(raw, { ...yamlReading, prettyErrors: false, logLevel: 'error' })
    const broken = (offset: number, message: string): InputRow[] => {
      // What is missing at its end is not missing in the next row.
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
    throw new Failure('refused', `${this.#name}:${line}:1: expected a list of ${this.#judgement.kind}`, {
      hint: 'Begin each row with "- " at the left margin.',
    })
  }

  #row(part: YamlPart, document: Document, value: unknown, prefix: FieldPath): InputRow {
    const base = { line: part.line, column: 1 }
    const source = { index: this.#index++, raw: asItem(part), start: base }
    return objectRow(source, value, this.#judgement, (path) =>
      placeAfter(base, part.raw.slice(0, this.#offsetOf(document, [...prefix, ...path]))),
    )
  }

  /** Where a field, or an item of a list, begins. */
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

/** The offset of an alias whose anchor the document does not have before it. */
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

/** A text that may stand between the items of a list: a document has its own ends. */
function asItem({ type, raw }: YamlPart): string {
  if (type === 'item') return raw
  return `${raw.startsWith('---') ? '' : '---\n'}${raw}---\n`
}
