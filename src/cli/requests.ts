import type { EndpointName } from '../contract/endpoints.ts'

/** What a command asks of the service, for the reference pages. */
export interface Requests {
  /** In the order in which they are made. */
  calls: readonly EndpointName[]
  /** What the endpoints alone do not say. */
  note?: string
}

export function calls(...endpoints: readonly EndpointName[]): Requests {
  return { calls: endpoints }
}

export const localWork: Requests = { calls: [], note: 'none; it works on this machine.' }

export const serviceData: Requests = {
  calls: [],
  note: "none; it goes to the service's data, on the machine of the service.",
}
