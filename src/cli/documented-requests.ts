import type { EndpointName } from '../contract/endpoints.ts'

/** The requests of a command to the service, for the reference pages. */
export interface Requests {
  /** In the order in which they are made. */
  calls: readonly EndpointName[]
  /** What the endpoints alone do not say. */
  note?: string
}

export function calls(...endpoints: readonly EndpointName[]): Requests {
  return { calls: endpoints }
}

export const localWork: Requests = { calls: [], note: 'none.' }

export const serviceData: Requests = {
  calls: [],
  note: "none; the command opens the service's data directly, on the machine of the service.",
}
