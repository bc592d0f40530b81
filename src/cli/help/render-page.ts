import wrapAnsi from 'wrap-ansi'
import type { HelpPage, Row, Section } from './page.ts'

interface Layout {
  width: number
  bold(text: string): string
}

/** With fewer columns, a description goes below its label. */
const leastForColumns = 60
/** A label that is longer has its description below it. */
const longestLabel = 32
const indent = '  '

/** A page as text; no line is longer than the width unless a single word is. */
export function renderPage({ summary, sections, closing }: HelpPage, layout: Layout): string {
  const parts = [
    wrap(summary, layout.width),
    ...sections.map((section) => [layout.bold(section.title), ...renderSection(section, layout)]),
    closing.flatMap((line) => wrap(line, layout.width)),
  ]
  return `${parts.map((lines) => lines.join('\n')).join('\n\n')}\n`
}

function renderSection(section: Section, { width }: Layout): string[] {
  switch (section.kind) {
    case 'text':
      return wrap(section.text, width, indent)
    case 'usage':
      return section.lines.flatMap((line) => wrap(`$ ${line}`, width, indent, `${indent}    `))
    case 'examples':
      return section.examples.flatMap(({ description, command }, index) => [
        ...(index === 0 ? [] : ['']),
        ...wrap(description, width, indent),
        ...renderCommand(command, width),
      ])
    case 'list':
      return renderList(section.rows, width)
  }
}

function renderList(rows: readonly Row[], width: number): string[] {
  const labels = rows.map(([label]) => label.length).filter((length) => length <= longestLabel)
  const column = width < leastForColumns ? 0 : indent.length + Math.max(0, ...labels) + 2
  return rows.flatMap(([label, text]) => {
    const start = `${indent}${label}`
    if (column === 0) return [start, ...wrap(text, width, ' '.repeat(8))]
    const lines = wrap(text, width, ' '.repeat(column))
    if (label.length > longestLabel) return [start, ...lines]
    const [first = '', ...rest] = lines
    return [start.padEnd(column) + first.slice(column), ...rest]
  })
}

/** A command as a shell takes it; a long one is continued with backslashes. */
function renderCommand(command: string, width: number): string[] {
  const continuation = `${indent}   `
  const parts = splitCommand(command, width - continuation.length - ' \\ '.length)
  const lines: string[] = []
  let line = `${indent}$`
  for (const [index, part] of parts.entries()) {
    const end = index === parts.length - 1 ? 0 : ' \\'.length
    if (index > 0 && line.length + 1 + part.length + end > width) {
      lines.push(`${line} \\`)
      line = continuation
    }
    line += ` ${part}`
  }
  return [...lines, line]
}

/** Where a command may be continued: between words, but not between a flag and its value if both fit. */
function splitCommand(command: string, room: number): string[] {
  const words = command.match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g) ?? []
  const parts: string[] = []
  for (const word of words) {
    const last = parts.at(-1) ?? ''
    const isValue = /^--?[\w-]+$|^[<>|]+$/.test(last) && !word.startsWith('-')
    if (isValue && last.length + 1 + word.length <= room) parts.splice(-1, 1, `${last} ${word}`)
    else parts.push(word)
  }
  return parts
}

function wrap(text: string, width: number, first = '', rest = first): string[] {
  const lines = wrapAnsi(text, width - rest.length).split('\n')
  return lines.map((line, index) => ((index === 0 ? first : rest) + line).trimEnd())
}
