import wrapAnsi from 'wrap-ansi'
import type { HelpPage, Section } from '../src/cli/help/page.ts'

interface Heading {
  /** `chatctl-users-import` */
  name: string
  /** 1 for commands, 7 for help topics. */
  section: 1 | 7
  version: string
  /** `2026-01-31` */
  date: string
  /** Other pages, `chatctl-flags(7)`. */
  seeAlso: readonly string[]
}

/** A page of help in the macros of man(7). */
export function writeManPage(page: HelpPage, { name, section, version, date, seeAlso }: Heading): string {
  const lines = [
    `.TH ${name.toUpperCase()} ${section} "${date}" "chatctl ${version}" "chatctl manual"`,
    '.SH NAME',
    `${name} \\- ${page.summary.replace(/\.$/, '').replaceAll("'", '\\(aq')}`,
    ...page.sections.flatMap(writeSection),
    '.SH SEE ALSO',
    ...seeAlso.map((other, index) => `${bold(other)}${index === seeAlso.length - 1 ? '' : ','}`),
  ]
  return `${lines.join('\n')}\n`
}

function writeSection(section: Section): string[] {
  switch (section.kind) {
    case 'usage':
      return ['.SH SYNOPSIS', ...section.lines.flatMap((line) => ['.nf', escapeText(line), '.fi'])]
    case 'text':
      return [`.SH ${section.title}`, ...paragraph(section.text)]
    case 'examples':
      return [
        `.SH ${section.title}`,
        ...section.examples.flatMap(({ description, command }, index) => [
          ...(index === 0 ? [] : ['.PP']),
          `${escapeText(description)}:`,
          '.RS 4',
          '.nf',
          `$ ${escapeText(command)}`,
          '.fi',
          '.RE',
        ]),
      ]
    case 'list':
      return [
        `.SH ${section.title}`,
        ...section.rows.flatMap(([label, text]) => ['.TP', bold(label.trim()), ...paragraph(text)]),
      ]
  }
}

/** In short lines, so that mandoc -Tlint has nothing to say. */
function paragraph(text: string): string[] {
  return wrapAnsi(text, 60)
    .split('\n')
    .map((line) => (line === '' ? '.PP' : escapeText(line)))
}

function bold(text: string): string {
  return `\\fB${escapeText(text)}\\fR`
}

/** A minus that can be copied and searched for, and no line that looks like a macro. */
function escapeText(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll("'", '\\(aq')
    .replaceAll('…', '...')
    .replace(/^\./, '\\&.')
}
