import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parse } from 'yaml'
import { commands } from '../support/manifest.ts'

/** A command or a script that a document shows. */
export interface Example {
  /** `README.md`, or `help of users`. */
  document: string
  /** A command line, or a whole script. */
  text: string
}

const root = resolve(import.meta.dirname, '../..')

/** Matches lines that are commands: chatctl, or npm to install it. */
const typed = /(^|[\s(])chatctl [a-z"-]|^npm /m

/** The examples of the README and the documents, without `docs/commands`, which repeats the help. */
export function readDocumentExamples(): Map<string, Example[]> {
  const documents = ['README.md', ...globSync('docs/{*,guides/*,reference/*}.md', { cwd: root }).sort()]
  const found = new Map<string, Example[]>()
  for (const path of documents) {
    const document = path.replaceAll('\\', '/')
    const texts = examplesOf(readFileSync(join(root, path), 'utf8'))
    if (texts.length > 0)
      found.set(
        document,
        texts.map((text) => ({ document, text })),
      )
  }
  return found
}

/**
 * The examples of the help, by topic and in their order.
 *
 * @param choose the one example of a command (default: all of them)
 */
export function readHelpExamples(
  choose?: (texts: readonly string[]) => string | undefined,
): Map<string, Example[]> {
  const found = new Map<string, Example[]>()
  for (const { id, hidden, examples = [] } of commands) {
    if (hidden) continue
    const document = `help of ${id.split(':')[0]}`
    const chosen = choose?.(examples.map(({ command }) => command))
    const added = examples
      .filter(({ command }) => chosen === undefined || command === chosen)
      .map(({ command }) => ({ document, text: command }))
    found.set(document, [...(found.get(document) ?? []), ...added])
  }
  return found
}

/**
 * The examples in Markdown: each line of an indented block, a fenced block of sh as one script, each
 * `run` of a workflow, and the lines of other blocks that contain a command.
 */
export function examplesOf(text: string): string[] {
  const found: string[] = []
  const blocks = text.matchAll(/^```(\w*)\n([\s\S]*?)^```|(?:^|\n)\n((?: {4}.*\n)+)/gm)
  for (const [, language, fenced = '', indented = ''] of blocks) {
    if (language === undefined) found.push(...linesOf(indented.replace(/^ {4}/gm, '')))
    else if (language === 'sh') found.push(fenced)
    else if (language === 'yaml' && fenced.includes('jobs:')) found.push(...stepsOf(fenced))
    // `text` is output.
    else if (language !== 'text') found.push(...fenced.split('\n').filter((line) => typed.test(line)))
  }
  return found
}

function linesOf(block: string): string[] {
  if (!typed.test(block)) return []
  return block
    .replaceAll(/\\\n\s*/g, '')
    .replaceAll(/ +# .*$/gm, '')
    .split('\n')
    .filter((line) => line.trim() !== '')
}

function stepsOf(workflow: string): string[] {
  const jobs = Object.values(parse(workflow).jobs) as { steps: { run?: string }[] }[]
  return jobs.flatMap(({ steps }) => steps.flatMap(({ run }) => run ?? []))
}
