/** The pages of `chatctl help` that are not about a command. */
export const helpTopics = [
  { name: 'flags', summary: 'Flags that most commands accept' },
  { name: 'environment', summary: 'Environment variables that chatctl reads' },
  { name: 'exit-codes', summary: 'Exit codes, and errors as JSON' },
  { name: 'output', summary: 'Output formats, and how to select fields' },
] as const
