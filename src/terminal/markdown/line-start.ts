type Leaf = 'blank' | 'text' | 'heading' | 'fence' | 'rule' | 'indented' | 'row'

/** The kind of a line, read from its start. */
export interface LineStart {
  /** Number of containers that continue. */
  kept: number
  opened: Container[]
  leaf: Leaf
  /** Index of the content in the line. */
  at: number
  /** Spaces before the content, within its containers. */
  indent: number
}

/** A list marker and the space after it. */
const listMarker = /^(?:([-+*])|(\d{1,9})[.)])( +|$)/

/**
 * Reads the containers and the kind of block from the start of a line (CommonMark, sections 3 and 5),
 * as soon as they are certain.
 * @param line the line so far, with tabs expanded
 * @param isWhole whether the line is complete
 * @returns undefined while further characters may change the result
 */
export function readLineStart(
  line: string,
  isWhole: boolean,
  containers: readonly Container[],
  isInParagraph: boolean,
): LineStart | undefined {
  const { kept, at: start } = matchContainers(line, containers)
  const opened: Container[] = []
  let at = start
  for (;;) {
    const indent = countSpaces(line, at)
    const rest = line.slice(at + indent)
    const found = (leaf: Leaf): LineStart => ({ kept, opened, leaf, at: at + indent, indent })
    if (rest === '') return isWhole ? found('blank') : undefined
    const continuesParagraph = isInParagraph && opened.length === 0
    if (indent >= 4) return found(continuesParagraph ? 'text' : 'indented')
    const isDeep = kept + opened.length >= maxDepth
    if (rest.startsWith('>') && !isDeep) {
      if (rest.length === 1 && !isWhole) return undefined
      opened.push({ kind: 'quote' })
      at += indent + (rest.charAt(1) === ' ' ? 2 : 1)
      continue
    }
    const leaf = readLeaf(rest, isWhole, continuesParagraph && kept === containers.length)
    if (leaf === undefined) return undefined
    const marker = leaf === 'rule' || isDeep ? null : listMarker.exec(rest)
    if (!marker) return found(leaf)
    const [all, , number] = marker
    const content = rest.slice(all.length)
    if (content === '' && !isWhole) return undefined
    const interrupts = content !== '' && (number === undefined || number === '1')
    if (continuesParagraph && kept === containers.length && !interrupts) return found('text')
    const task = /^\[([ xX])\] /.exec(content)
    if (!task && !isWhole && content.length < 4 && '[ ] '.startsWith(content.replace(/[xX]/, ' ')))
      return undefined
    const spaces = all.length - all.trimEnd().length
    // Of five or more spaces, all but one belong to indented code.
    const skipped = spaces <= 4 || content === '' ? spaces : 1
    const width = all.length - spaces + skipped
    opened.push({
      kind: 'item',
      indent: indent + (content === '' ? all.trimEnd().length + 1 : width),
      isOrdered: number !== undefined,
      isTask: task !== null,
      marker: task ? (task[1] === ' ' ? '[ ]' : '[x]') : all.trimEnd(),
    })
    at += indent + width + (task ? 4 : 0)
  }
}

/**
 * The number of containers that a line continues, and the index of the content inside them. Models
 * often indent a list below a numbered item by two spaces, although CommonMark requires three, so two
 * suffice.
 */
export function matchContainers(
  line: string,
  containers: readonly Container[],
): { kept: number; at: number } {
  let at = 0
  let kept = 0
  for (const container of containers) {
    const indent = countSpaces(line, at)
    if (container.kind === 'quote') {
      if (indent > 3 || line.charAt(at + indent) !== '>') break
      at += indent + (line.charAt(at + indent + 1) === ' ' ? 2 : 1)
    } else if (indent >= container.indent) {
      at += container.indent
    } else if (
      container.isOrdered &&
      indent >= 2 &&
      listMarker.test(line.slice(at + indent, at + indent + 12))
    ) {
      at += indent
    } else if (at + indent < line.length) {
      break
    }
    kept++
  }
  return { kept, at }
}

/** @param mayUnderline whether a paragraph continues here in the same containers */
function readLeaf(rest: string, isWhole: boolean, mayUnderline: boolean): Leaf | undefined {
  const first = rest.charAt(0)
  const length = runLength(rest)
  const mayGrow = !isWhole && length === rest.length
  switch (first) {
    case '|':
      return 'row'
    case '#':
      if (mayGrow) return undefined
      return length <= 6 && (length === rest.length || rest.charAt(length) === ' ') ? 'heading' : 'text'
    case '`':
    case '~':
      if (length >= 3) return first === '`' && rest.includes('`', length) ? 'text' : 'fence'
      return mayGrow ? undefined : 'text'
    case '=':
      // A setext heading underline (CommonMark section 4.3). The text above it is already on the screen,
      // so only a rule can be drawn below it.
      if (!mayUnderline || !/^=+ *$/.test(rest)) return 'text'
      return isWhole ? 'rule' : undefined
    case '-':
    case '*':
    case '_':
      if (!consistsOf(rest, first)) return 'text'
      if (!isWhole) return undefined
      return rest.replaceAll(' ', '').length >= 3 ? 'rule' : 'text'
    default:
      // Digits may begin a list item.
      return !isWhole && /^(\+|\d{1,9}[.)]?)$/.test(rest) ? undefined : 'text'
  }
}

function consistsOf(rest: string, mark: string): boolean {
  for (const unit of rest) if (unit !== mark && unit !== ' ') return false
  return true
}

function countSpaces(line: string, from: number): number {
  let at = from
  while (line.charAt(at) === ' ') at++
  return at - from
}

function runLength(rest: string): number {
  let length = 1
  while (rest.charAt(length) === rest.charAt(0)) length++
  return length
}

/** A quote or a list item, which contains blocks. */
export type Container = { kind: 'quote' } | Item

interface Item {
  kind: 'item'
  /** Number of spaces before its continuation lines in the source. */
  indent: number
  isOrdered: boolean
  /** As in the source, `-` or `3.`, or the check box of a task: `[ ]` or `[x]`. */
  marker: string
  isTask: boolean
}

/** Maximum depth of containers. Deeper markers are text, because each line examines all containers. */
const maxDepth = 32
