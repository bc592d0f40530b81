import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, matchesGlob, resolve } from 'node:path'

/**
 * `node scripts/check-terms.ts [PATH…]` fails if a file contains a term that the table of docs/style.md
 * says to avoid, or if a document contains a sentence that is too long. Without paths, it checks the files
 * that cspell.json lists for the spelling.
 */

interface Term {
  /** Finds the term, also in a camelCase name and across the lines of a comment. */
  pattern: RegExp
  /** Finds the phrases in which the term is correct. */
  exceptions: RegExp[]
  /** What to write instead. */
  use: string
}

export interface Finding {
  line: number
  found: string
  use: string
}

const styleGuide = 'docs/style.md'
const documents = ['*.md', 'docs/**/*.md']
/** Generated from the help and from a list, or given to the project. */
const otherDocuments = ['docs/commands/**', 'docs/{dependencies,interface}.md']
const maximumWords = 30
/** White space, with the mark that begins the next line of a comment or a quotation. */
const gap = String.raw`(?:[^\S\n]+|[^\S\n]*\n[^\S\n]*(?:(?:\*|\/\/|#|>)[^\S\n]+)?)`

/** @param guide text of docs/style.md */
export function readTerms(guide: string): Term[] {
  const [, ...rows] =
    guide
      .split(/^\| use \| avoid \| except \|$/m)[1]
      ?.trim()
      .split('\n') ?? []
  return rows.flatMap((row) => {
    const [, use = '', avoid = '', except = ''] = row.split('|').map((cell) => cell.trim())
    const exceptions = listOf(except).map(patternOf)
    return listOf(avoid).map((phrase) => ({ use, pattern: patternOf(phrase), exceptions }))
  })
}

export function findTerms(text: string, terms: readonly Term[]): Finding[] {
  return terms
    .flatMap(({ pattern, exceptions, use }) => {
      const blank = (phrase: string) => phrase.replace(/\S/g, ' ')
      const checked = exceptions.reduce((rest, exception) => rest.replace(exception, blank), text)
      return [...checked.matchAll(pattern)].map((match) => ({
        line: text.slice(0, match.index).split('\n').length,
        found: match[0].replace(/\s+((\*|\/\/|#|>)\s+)?/g, ' '),
        use,
      }))
    })
    .sort((a, b) => a.line - b.line)
}

/** Finds long sentences in Markdown. A code span, a quotation, and the address of a link count as a part of a word. */
export function findLongSentences(document: string): Finding[] {
  const text = document
    .replace(/^ *```[\s\S]*?^ *```$|^ {4}.*$/gm, (code) => code.replace(/.+/g, ''))
    .replace(/`[^`]+`|“[^”]+”|\]\([^)]+\)/g, (part) => `x${part.replace(/[^\n]+/g, '')}`)
  const sentence = /\S[^|]*?(?=[.?!][*)]*\s|\n\s*(?:\n|-|\d+\.|$)|\||$)/g
  return [...text.matchAll(sentence)].flatMap(({ 0: found, index }) => {
    const words = found.match(/[\p{L}\d]\S*/gu) ?? []
    const line = text.slice(0, index).split('\n').length
    const use = `at most ${maximumWords} words, not ${words.length}`
    return words.length > maximumWords ? { line, found: `${words.slice(0, 6).join(' ')} …`, use } : []
  })
}

function listOf(cell: string): string[] {
  return cell.split(',').flatMap((phrase) => phrase.trim() || [])
}

/** Words begin after anything but a letter, or with the capital letter of a part of a camelCase name. */
function patternOf(phrase: string): RegExp {
  const words = phrase.split(' ').map((variants) => `(?:${variants.split('/').map(anyCase).join('|')})`)
  return new RegExp(`(?:(?<![A-Za-z])|(?<=[a-z])(?=[A-Z]))${words.join(gap)}(?![a-z])`, 'g')
}

function anyCase(word: string): string {
  return `[${word.charAt(0).toUpperCase()}${word.charAt(0)}]${word.slice(1)}`
}

/** The files of a git work tree that match a pattern of `included` and none of `excluded`. */
export function listPaths(root: string, included: readonly string[], excluded: readonly string[]): string[] {
  const patterns = included.map((path) => `:(glob)${path}`)
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', ...patterns]
  // Not with `:(exclude)`: git then lists nothing for a single path that is longer than an excluded one.
  const paths = execFileSync('git', args, { cwd: root, encoding: 'utf8' })
    .split('\0')
    .filter((path) => path !== '' && !excluded.some((pattern) => matchesGlob(path, pattern)))
  if (paths.length === 0) throw new Error(`No file matches ${included.join(' ')}`)
  return paths
}

if (import.meta.main) {
  const root = resolve(import.meta.dirname, '..')
  const read = (path: string) => readFileSync(join(root, path), 'utf8')
  const { files, ignorePaths } = JSON.parse(read('cspell.json'))
  const included = process.argv.length > 2 ? process.argv.slice(2) : files
  const paths = listPaths(root, included, ignorePaths)
  const terms = readTerms(read(styleGuide))
  const findings = [...new Set(paths)].flatMap((path) => {
    const text = read(path)
    const matches = (pattern: string) => matchesGlob(path, pattern)
    const isDocument = documents.some(matches) && !otherDocuments.some(matches)
    const found = [
      ...(path === styleGuide ? [] : findTerms(text, terms)),
      ...(isDocument ? findLongSentences(text) : []),
    ]
    return found.map(({ line, found, use }) => `${path}:${line}: "${found}": use ${use}\n`)
  })
  process.stdout.write(findings.join(''))
  if (findings.length > 0) process.exitCode = 1
}
