import type { Dispatcher } from 'undici'
import { isLoopback } from '../contract/base-url.ts'
import type { PoolOptions } from './proxied-pool.ts'

/**
 * Opens the one keep-alive pool of a client. Undici is loaded here and not before, and its proxy
 * agent only where the environment names a proxy (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`, upper
 * or lower case). Loopback never goes through one.
 *
 * @param connectTimeout milliseconds, TLS handshake included
 * @throws Failure `config` where the environment's proxy is not a URL
 */
export async function openPool(
  origin: URL,
  connectTimeout: number,
  env: NodeJS.ProcessEnv,
): Promise<Dispatcher> {
  const options: PoolOptions = {
    // Undici refuses Infinity; 0 is its word for no bound.
    connectTimeout: Number.isFinite(connectTimeout) ? connectTimeout : 0,
    // HTTP/2 gains a short-lived client nothing and costs it a module and a GOAWAY to understand.
    allowH2: false,
    headersTimeout: 0,
    bodyTimeout: 0,
  }
  if (!isLoopback(origin.hostname) && namesProxy(env)) {
    const { openProxiedPool } = await import('./proxied-pool.ts')
    return openProxiedPool(options, env)
  }
  const { default: DirectPool } = await import('undici/lib/dispatcher/pool.js')
  return new DirectPool(origin.origin, options)
}

function namesProxy(env: NodeJS.ProcessEnv): boolean {
  return Boolean(env['https_proxy'] || env['HTTPS_PROXY'] || env['http_proxy'] || env['HTTP_PROXY'])
}
