import type { ReadableFlag } from '../line/read-line.ts'

/** A page of help, before it is laid out for a terminal, the docs, or man. */
export interface HelpPage {
  /** One sentence. */
  summary: string
  sections: readonly Section[]
  /** Where to read more, one sentence each. */
  closing: readonly string[]
}

export type Section = { title: string } & (
  | { kind: 'text'; text: string }
  | { kind: 'usage'; lines: readonly string[] }
  | { kind: 'examples'; examples: readonly Example[] }
  | { kind: 'list'; rows: readonly Row[] }
)

export interface Example {
  /** The job that the command does. */
  description: string
  command: string
}

/** A word and what it means. */
export type Row = readonly [label: string, text: string]

/** The pages of `chatctl help` that are not about a command. */
export const helpTopics = [
  { name: 'flags', summary: 'Flags that most commands accept' },
  { name: 'environment', summary: 'Environment variables that chatctl reads' },
  { name: 'exit-codes', summary: 'Exit codes, and errors as JSON' },
  { name: 'output', summary: 'Output formats, and how to select fields' },
  { name: 'agents', summary: 'How coding agents and other programs run chatctl' },
] as const

/** A flag as the manifest describes it. */
export interface DeclaredFlag extends ReadableFlag {
  summary?: string | undefined
  helpGroup?: string | undefined
  dependsOn?: string[]
  hidden?: boolean | undefined
  multiple?: boolean | undefined
  required?: boolean | undefined
  default?: unknown
}

interface DeclaredArgument {
  name: string
  description?: string | undefined
  required?: boolean | undefined
  multiple?: boolean | undefined
}

/** A command as the manifest describes it. */
export interface DeclaredCommand {
  id: string
  summary?: string | undefined
  description?: string | undefined
  hidden?: boolean | undefined
  usage?: string | string[] | undefined
  examples?: readonly unknown[] | undefined
  args: Record<string, DeclaredArgument>
  flags: Record<string, DeclaredFlag>
}

/** Commands by id, `settings:api:set`, and the groups that they are in. */
export interface Declarations {
  commands: readonly DeclaredCommand[]
  topics: readonly { name: string; description?: string | undefined }[]
}
