import { type EndpointName, endpoints } from '../contract/endpoints.ts'

/** The requests of a command to the service, for the reference pages. */
export interface Requests {
  /** In the order in which they are made. */
  calls: readonly EndpointName[]
  /** What the endpoints alone do not say. */
  note?: string
  /** Whether it opens the data of the embedded service. */
  opensData?: boolean
  /** If the requests and `--dry-run` do not show it. */
  effect?: Effect
}

/** What a command changes at most. Caches, transcripts, and files that a flag names do not count. */
type Effect = 'reads' | 'changes the service' | 'changes this machine'

export function effectOf({ requests, flags = {} }: { requests: Requests; flags?: object }): Effect {
  const { calls, effect, opensData } = requests
  if (effect) return effect
  if (calls.some((name) => endpoints[name].method !== 'GET')) return 'changes the service'
  if (!('dry-run' in flags)) return 'reads'
  return opensData ? 'changes the service' : 'changes this machine'
}

export function calls(...endpoints: readonly EndpointName[]): Requests {
  return { calls: endpoints }
}

export const localWork: Requests = { calls: [], note: 'none.' }

export const serviceData: Requests = {
  calls: [],
  opensData: true,
  note: "none; the command opens the service's data directly, on the machine of the service.",
}
