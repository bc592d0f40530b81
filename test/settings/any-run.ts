import type { Run } from '../../src/run/run.ts'

/** A run with the parts that changing settings uses. */
export function anyRun(parts: Partial<Run>): Run {
  const none = {
    dryRun: false,
    service: 'a',
    signal: new AbortController().signal,
    noteSettings: () => {},
    contradictSettings: () => {},
    warnOfResponse: async () => {},
    commandFor: (...words: string[]) => ['chatctl', ...words].join(' '),
    showAside: async () => {},
  }
  return { ...none, ...parts } as Run
}
