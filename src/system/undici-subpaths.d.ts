/**
 * Modules of undici that are loaded separately. Its index also loads fetch, WebSocket, and the caches,
 * which takes a third of the time of a short command.
 */
declare module 'undici/lib/dispatcher/pool.js' {
  import { Pool } from 'undici'
  export default Pool
}

declare module 'undici/lib/dispatcher/env-http-proxy-agent.js' {
  import { EnvHttpProxyAgent } from 'undici'
  export default EnvHttpProxyAgent
}

declare module 'undici/lib/api/api-connect.js' {
  import { Dispatcher } from 'undici'

  const connect: Dispatcher['connect']
  export default connect
}

declare module 'undici/lib/api/api-request.js' {
  import { Dispatcher } from 'undici'

  const request: Dispatcher['request']
  export default request
}

declare module 'undici/lib/core/connect.js' {
  import { buildConnector } from 'undici'
  export default buildConnector
}
