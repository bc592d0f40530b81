/**
 * Modules of undici that are loaded separately. Its index also loads fetch, WebSocket, and the caches,
 * which takes a third of the time of a short command.
 */
declare module 'undici/lib/dispatcher/pool.js' {
  import { Pool } from 'undici'
  export default Pool
}

declare module 'undici/lib/core/connect.js' {
  import { buildConnector } from 'undici'
  export default buildConnector
}

/** Without the agent of undici, which writes a warning of Node and waits for a proxy that has hung up. */
declare module 'undici/lib/core/socks5-client.js' {
  import { EventEmitter } from 'node:events'
  import { Socket } from 'node:net'

  export class Socks5Client extends EventEmitter {
    constructor(socket: Socket, options: { username: string; password: string })
    handshake(): void
    connect(host: string, port: number): void
  }
}
