import type { StoredMessage } from '../support/handlers/history.ts'
import { type Run, type RunOptions, runChatctl } from '../support/run-chatctl.ts'
import type { Sandbox } from '../support/sandbox.ts'

/** Runs one export against a service, with a key in the environment. */
export function runExport(
  sandbox: Sandbox,
  url: string,
  args: readonly string[] = [],
  options: RunOptions = {},
): Promise<Run> {
  const env = { ...exportEnvironment(url), ...options.env }
  return runChatctl(sandbox, ['history', 'export', ...args], { timeout: 60_000, ...options, env })
}

export function exportEnvironment(url: string): NodeJS.ProcessEnv {
  return { CHATCTL_BASE_URL: url, CHATCTL_API_KEY: 'key-for-exports' }
}

/** The messages in JSON lines. */
export function readLines(text: string): StoredMessage[] {
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
}

export function idsOf(messages: readonly StoredMessage[]): (string | undefined)[] {
  return messages.map(({ id }) => id)
}
