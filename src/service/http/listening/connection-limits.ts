/** The largest body in bytes: parsing it must not block the event loop for long. */
export const bodyLimit = 4 * 1024 * 1024

/** The most lines in the head of a request. */
export const headerLines = 100

/** How long, in ms, the head of a request may take. */
const headTimeout = 20_000

/**
 * Longer than proxies keep an idle connection, which is 60 s as a rule: so that they are the ones
 * to close it, and no request is lost on the way to a connection that closes.
 */
export const keepAliveTimeout = 75_000

/** What Node itself sees to on every connection; `requestTimeout` in ms, for a whole request to arrive. */
export function limitConnections(requestTimeout: number) {
  return {
    maxHeaderSize: 16 * 1024,
    requestTimeout,
    headersTimeout: Math.min(requestTimeout, headTimeout),
    // Node looks for requests that are overdue this often.
    connectionsCheckingInterval: Math.min(requestTimeout, 5_000),
  }
}
