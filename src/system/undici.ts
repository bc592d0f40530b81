/**
 * Loads what the service needs of undici. Its index would also load fetch, WebSocket, and the caches. In
 * dist, undici is in one bundle, which the client uses as well.
 */
export async function loadUndici() {
  const [{ default: Pool }, { default: request }, { default: buildConnector }] = await Promise.all([
    import('undici/lib/dispatcher/pool.js'),
    import('undici/lib/api/api-request.js'),
    import('undici/lib/core/connect.js'),
  ])
  return {
    buildConnector,
    /** Only the index of undici adds `request` to its dispatchers. */
    openPool: (...options: ConstructorParameters<typeof Pool>) =>
      Object.assign(new Pool(...options), { request }),
  }
}
