import {
  type Alias,
  Composer,
  CST,
  type Document,
  type ErrorCode,
  isAlias,
  isCollection,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  Parser,
  visit,
  type YAMLMap,
} from 'yaml'
import { boundMessages, type Located, type LocatedEntry } from './located.ts'
import { yamlReading } from './yaml-scalars.ts'

export const fileBounds = {
  /** Maximum levels of nesting. A known key of a settings file needs at most four. */
  depth: 50,
  /** Maximum number of values, including those that aliases repeat, which can grow exponentially. */
  values: 10_000,
}

/** The bounds of a list, such as about 20,000 users, that is read as a whole. Each repetition of an anchor counts. */
export const listBounds = { depth: 100, values: 200_000 }

type Bounds = typeof fileBounds

export interface TextFault {
  /** Offset in the text. */
  at: number
  words: string
}

/** The text is not a valid document. */
export class UnreadableFile extends Error {
  readonly faults: readonly TextFault[]

  /** Whether it exceeds a bound. */
  readonly isTooLarge: boolean

  constructor(faults: readonly TextFault[], isTooLarge = false) {
    super(faults[0]?.words)
    this.faults = faults
    this.isTooLarge = isTooLarge
  }
}

/**
 * Reads one YAML 1.2 document with the place of every value, anchors and `<<` resolved.
 * @throws UnreadableFile for invalid YAML, a duplicate key, several documents, or a warning of the parser
 */
export function locateYaml(text: string, bounds: Bounds = fileBounds): Located {
  const document = parse(text, bounds)
  const [error] = document.errors
  if (error) throw new UnreadableFile([faultOf(error.pos, error.code, error.message)])
  const { version = '1.2' } = document.directives?.yaml ?? {}
  // In YAML 1.1, `yes` is true, and 010 is 8.
  if (version !== '1.2') fail(0, `the file is YAML ${version}; only YAML 1.2 is supported`)
  const reader = new YamlReader(document, text, bounds)
  const root = reader.read(document.contents, 0, 0)
  if (reader.repeated.size > 0)
    throw new UnreadableFile([...reader.repeated].map(([at, key]) => ({ at, words: `duplicate key ${key}` })))
  return root
}

/**
 * As `parseDocument` of yaml, but it stops at the first error, of which each takes long, and at a bound. The reader
 * finds duplicate keys, because the composer would compare each key of a map with all others.
 */
function parse(text: string, bounds: Bounds): Document.Parsed {
  const composer = new Composer({ ...yamlReading, merge: true, prettyErrors: false, uniqueKeys: false })
  let first: UnreadableFile | undefined
  // Called with errors and warnings. The composer reports what is thrown in a value as another error.
  const onError = (...error: Parameters<typeof faultOf>): never => {
    first ??= new UnreadableFile([faultOf(...error)])
    throw first
  }
  Object.assign(composer, { onError })
  const [document, second] = composer.compose(new BoundedParser(bounds).parse(text), true, text.length)
  if (second) fail(second.range[0], 'unexpected second document: the file must contain only one')
  // The composer always returns one.
  return document as Document.Parsed
}

/** Tokens become values only when all of the text is read, which takes a hundred times its memory. */
class BoundedParser extends Parser {
  readonly #bounds: Bounds
  #scalars = 0
  #tokens = 0
  #errors = 0

  constructor(bounds: Bounds) {
    super()
    this.#bounds = bounds
  }

  override *next(source: string): Generator<CST.Token, void> {
    const { depth, values } = this.#bounds
    const type = CST.tokenType(source) ?? 'space'
    // Of two scalars, one may be a key.
    if (type.endsWith('scalar') && ++this.#scalars > 2 * values)
      throw tooLarge(this.offset, boundMessages.values(values))
    // A value with its key, its marks, its tag, its anchor, and a line of comment.
    this.#tokens += type === 'space' ? 0 : type.endsWith('scalar') ? source.split('\n').length : 1
    if (this.#tokens > 8 * values) throw tooLarge(this.offset, boundMessages.tokens(8 * values))
    for (const token of super.next(source)) {
      // Only the first error is shown.
      if (token.type !== 'error' || this.#errors++ === 0) yield token
    }
    // With the document, and a scalar that may be complete.
    if (this.stack.length > depth + 3) throw tooLarge(this.offset - source.length, boundMessages.depth)
  }
}

/** @param source the place of an error of yaml */
function faultOf(
  source: number | readonly number[] | { offset: number },
  code: ErrorCode,
  words: string,
): TextFault {
  const [at = 0] = [typeof source === 'object' && 'offset' in source ? source.offset : source].flat()
  return {
    at,
    words: code === 'RESOURCE_EXHAUSTION' ? boundMessages.depth : words.replace(/:?(\n.*)?$/s, ''),
  }
}

type Entries = Map<string, LocatedEntry>

class YamlReader {
  readonly #document: Document
  readonly #text: string
  readonly #bounds: Bounds
  /** Duplicate keys, by their offsets. An alias may repeat a map. */
  readonly repeated = new Map<number, string>()
  #values = 0
  #targets: ReadonlyMap<Alias, Node> | undefined

  constructor(document: Document, text: string, bounds: Bounds) {
    this.#document = document
    this.#text = text
    this.#bounds = bounds
  }

  /** @param at the place of a missing value */
  read(node: unknown, at: number, depth: number): Located {
    const start = (node as Node | null)?.range?.[0] ?? at
    this.#checkBounds(start, depth)
    if (isAlias(node)) return this.read(this.#resolve(node), start, depth + 1)
    const end = (node as Node | null)?.range?.[1] ?? start
    if (isMap(node)) {
      return { kind: 'map', at: start, end, entries: [...this.#entriesOf(node, depth).values()] }
    }
    if (isSeq(node)) {
      const items = node.items.map((item) => this.read(item, start, depth + 1))
      return { kind: 'list', at: start, end, items }
    }
    const value = isScalar(node) ? node.value : null
    return { kind: 'scalar', at: start, value, end, ...(end > start ? {} : this.#commentAt(start)) }
  }

  #checkBounds(at: number, depth: number): void {
    const { values, depth: levels } = this.#bounds
    if (depth > levels) throw tooLarge(at, boundMessages.depth)
    if (++this.#values > values) throw tooLarge(at, boundMessages.values(values))
  }

  /** The offset of a comment directly after the place of a missing value, such as an unquoted `#3366FF`. */
  #commentAt(start: number): { comment?: number } {
    const gap = /^[ \t]*(?=#)/.exec(this.#text.slice(start, this.#text.indexOf('\n', start) + 1 || undefined))
    return gap ? { comment: start + gap[0].length } : {}
  }

  #resolve(node: unknown): unknown {
    if (!isAlias(node)) return node
    this.#targets ??= targetsOf(this.#document)
    const target = this.#targets.get(node)
    if (target === undefined) fail(node.range?.[0] ?? 0, `unknown alias: no anchor &${node.source} before it`)
    return target
  }

  /** A map's own keys take precedence over those that `<<` merges, and earlier sources over later ones. */
  #entriesOf(map: YAMLMap, depth: number): Entries {
    const own: Entries = new Map()
    const merged: Entries = new Map()
    for (const { key, value } of map.items as Pair<unknown, unknown>[]) {
      if (isScalar(key) && typeof key.value === 'symbol') {
        for (const [name, entry] of this.#mergedBy(value, depth)) {
          if (!merged.has(name)) merged.set(name, entry)
        }
        continue
      }
      const keyAt = (key as Node | null)?.range?.[0] ?? 0
      const named = this.#resolve(key)
      // Its text could be exponentially longer than the file.
      if (isCollection(named)) fail(keyAt, 'a key must not be a map or a list')
      const name = String(isScalar(named) ? named.value : named)
      if (own.has(name)) this.repeated.set(keyAt, /^[\w.$-]+$/.test(name) ? name : 'a key')
      own.set(name, { key: name, keyAt, value: this.#readValue(value, keyAt, depth) })
    }
    for (const [name, entry] of merged) if (!own.has(name)) own.set(name, entry)
    return own
  }

  /** The place of a missing value is that of its comment, or else of its key. */
  #readValue(node: unknown, keyAt: number, depth: number): Located {
    const value = this.read(node, keyAt, depth + 1)
    const isMissing = value.kind === 'scalar' && value.value === null && value.end === value.at
    return isMissing && !isAlias(node) ? { ...value, at: value.comment ?? keyAt } : value
  }

  #mergedBy(source: unknown, depth: number): Entries {
    const at = (source as Node | null)?.range?.[0] ?? 0
    const target = this.#resolve(source)
    this.#checkBounds(at, depth)
    if (isMap(target)) return this.#entriesOf(target, depth + 1)
    if (!isSeq(target)) fail(at, 'the value of << must be a map, an alias of a map, or a list of these')
    const all: Entries = new Map()
    for (const item of target.items) {
      for (const [name, entry] of this.#mergedBy(item, depth + 1)) if (!all.has(name)) all.set(name, entry)
    }
    return all
  }
}

/** The node of each alias: the last one before it with that anchor. `Alias.resolve` would visit the document each time. */
function targetsOf(document: Document): ReadonlyMap<Alias, Node> {
  const anchored = new Map<string, Node>()
  const targets = new Map<Alias, Node>()
  visit(document, (_, node) => {
    if (isAlias(node)) {
      const target = anchored.get(node.source)
      if (target) targets.set(node, target)
    } else if (isNode(node) && node.anchor) anchored.set(node.anchor, node)
  })
  return targets
}

function fail(at: number, words: string): never {
  throw new UnreadableFile([{ at, words }])
}

function tooLarge(at: number, words: string): UnreadableFile {
  return new UnreadableFile([{ at, words }], true)
}
