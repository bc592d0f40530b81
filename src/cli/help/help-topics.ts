/** The pages of `chatctl help` that are not about a command. */
export const helpTopics = [
  { name: 'flags', summary: 'Flags that every command accepts' },
  { name: 'environment', summary: 'Environment variables that chatctl reads' },
  { name: 'exit-codes', summary: 'Exit codes and their meanings' },
  { name: 'output', summary: 'Output formats, and how to select fields' },
] as const
