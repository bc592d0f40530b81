import type { CompiledMode, HighlightResult } from 'highlight.js'
import hljs from 'highlight.js/lib/core'
import bash from 'highlight.js/lib/languages/bash'
import c from 'highlight.js/lib/languages/c'
import cpp from 'highlight.js/lib/languages/cpp'
import csharp from 'highlight.js/lib/languages/csharp'
import css from 'highlight.js/lib/languages/css'
import diff from 'highlight.js/lib/languages/diff'
import dockerfile from 'highlight.js/lib/languages/dockerfile'
import go from 'highlight.js/lib/languages/go'
import ini from 'highlight.js/lib/languages/ini'
import java from 'highlight.js/lib/languages/java'
import javascript from 'highlight.js/lib/languages/javascript'
import json from 'highlight.js/lib/languages/json'
import kotlin from 'highlight.js/lib/languages/kotlin'
import lua from 'highlight.js/lib/languages/lua'
import makefile from 'highlight.js/lib/languages/makefile'
import markdown from 'highlight.js/lib/languages/markdown'
import nginx from 'highlight.js/lib/languages/nginx'
import php from 'highlight.js/lib/languages/php'
import powershell from 'highlight.js/lib/languages/powershell'
import python from 'highlight.js/lib/languages/python'
import ruby from 'highlight.js/lib/languages/ruby'
import rust from 'highlight.js/lib/languages/rust'
import shell from 'highlight.js/lib/languages/shell'
import sql from 'highlight.js/lib/languages/sql'
import swift from 'highlight.js/lib/languages/swift'
import typescript from 'highlight.js/lib/languages/typescript'
import xml from 'highlight.js/lib/languages/xml'
import yaml from 'highlight.js/lib/languages/yaml'
import type { Mark, TextStyle } from './text-style.ts'

const languages = {
  bash,
  c,
  cpp,
  csharp,
  css,
  diff,
  dockerfile,
  go,
  ini,
  java,
  javascript,
  json,
  kotlin,
  lua,
  makefile,
  markdown,
  nginx,
  php,
  powershell,
  python,
  ruby,
  rust,
  shell,
  sql,
  swift,
  typescript,
  xml,
  yaml,
}
for (const [name, define] of Object.entries(languages)) hljs.registerLanguage(name, define)

/** Styles of highlight.js scopes, by their first part. Others have no style. */
const marksOf: Record<string, Mark> = {
  keyword: 'magenta',
  'selector-tag': 'magenta',
  'selector-class': 'yellow',
  'selector-id': 'yellow',
  tag: 'blue',
  name: 'blue',
  section: 'blue',
  title: 'blue',
  string: 'green',
  regexp: 'green',
  addition: 'green',
  deletion: 'red',
  number: 'yellow',
  literal: 'yellow',
  symbol: 'yellow',
  built_in: 'cyan',
  type: 'cyan',
  attr: 'cyan',
  attribute: 'cyan',
  property: 'cyan',
  variable: 'cyan',
  comment: 'dim',
  quote: 'dim',
  meta: 'dim',
}

/**
 * Maximum lengths of a line that is colored, and of the open lines that are kept. Some grammars take cubic time: a line
 * of 1,800 characters takes 78 ms, and one of 500 takes 4 ms.
 */
const maxLineLength = 500
const maxOpeningLength = 2000
/** Budget for reading text again, in UTF-16 units: an initial amount, and an amount for each new unit. */
const firstCredit = 20_000
const creditPerUnit = 8

export function knows(language: string): boolean {
  return hljs.getLanguage(language) !== undefined
}

/** A state of the highlighter, and the lines that lead to it. */
interface Level {
  /** The open rules, outermost first. */
  state: string
  /** Length of the prefix of the opening that leads to the state. */
  length: number
}

/**
 * Colors the lines of one code block. highlight.js reads whole texts only, and reading the block again
 * for each line would take quadratic time. Most lines end outside any multi-line construct. If a line
 * opens one, such as a comment or a long string, it is kept and read again before each further line
 * until the construct ends. Lines that do not change the open constructs are not kept, so the total
 * time stays linear.
 */
export class LineHighlighter {
  #language: string
  #style: TextStyle
  /** The lines that lead to the current state, each with its newline. */
  #opening = ''
  #levels: Level[] = []
  #credit = firstCredit

  constructor(language: string, style: TextStyle) {
    this.#language = language
    this.#style = style
  }

  read(line: string): string {
    if (line.length > maxLineLength || line.trim() === '') return line
    this.#credit += creditPerUnit * line.length - this.#opening.length
    if (this.#credit < 0) this.#remember('', '')
    const text = `${this.#opening}${line}\n`
    const { value, _top: top } = hljs.highlight(text, { language: this.#language, ignoreIllegals: true })
    const painted = paintFrom(value, this.#opening.split('\n').length - 1, this.#style)
    this.#remember(describe(top), text)
    return painted
  }

  #remember(state: string, text: string): void {
    const known = this.#levels.findIndex((level) => level.state === state)
    if (state === '' || (known < 0 && text.length > maxOpeningLength)) this.#levels = []
    else if (known >= 0) this.#levels.length = known + 1
    else this.#levels.push({ state, length: text.length })
    this.#opening = text.slice(0, this.#levels.at(-1)?.length ?? 0)
  }
}

/** The open rules as a comparable string; empty outside all. */
function describe(top: HighlightResult['_top']): string {
  let state = ''
  for (let mode = top as CompiledMode | undefined; mode?.parent; mode = mode.parent) {
    state = `${mode.scope ?? ''} ${mode.begin ?? ''}\n${state}`
  }
  return state
}

const html = /<span class="(?:hljs-)?([^" ]*)(?: [^"]*)?">|<\/span>|\n|&(amp|lt|gt|quot|#x27);|[^<&\n]+/g
const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#x27': "'" }

/**
 * @param value HTML from highlight.js
 * @param skipped number of lines before the wanted one
 */
function paintFrom(value: string, skipped: number, style: TextStyle): string {
  const marks: (Mark | undefined)[] = []
  const runs: { text: string; mark: Mark | undefined }[] = []
  let line = 0
  let text = ''
  const endRun = (): void => {
    if (text !== '') runs.push({ text, mark: marks.at(-1) })
    text = ''
  }
  const add = (part: string): void => {
    // A style between a character and its combining marks would separate them in a terminal.
    const [joined = ''] = text === '' ? (/^\p{M}+/u.exec(part) ?? []) : []
    const last = runs.at(-1)
    if (last) last.text += joined
    text += last ? part.slice(joined.length) : part
  }
  for (const [part, scope, entity] of value.matchAll(html)) {
    if (part === '\n') {
      if (line === skipped) break
      line++
    } else if (scope !== undefined || part === '</span>') {
      endRun()
      if (scope === undefined) marks.pop()
      else marks.push(marksOf[scope] ?? (scope === 'subst' ? undefined : marks.at(-1)))
    } else if (line === skipped) add(entity === undefined ? part : (entities[entity] ?? ''))
  }
  endRun()
  return runs.map(({ text: run, mark }) => (mark === undefined ? run : style[mark](run))).join('')
}
