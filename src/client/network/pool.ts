import type { Dispatcher } from 'undici'
import { isLoopback } from '../../contract/base-url.ts'
import { Failure } from '../../contract/failure.ts'
import { trustedConnect } from '../../system/trusted-connect.ts'
import type { PoolOptions } from './proxied-pool.ts'

/**
 * Opens the keep-alive pool of a client. Loads undici on demand, and its proxy agent only if the
 * environment names a proxy (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`, in upper or lower case). Loopback
 * addresses never use a proxy.
 *
 * @param connectTimeout milliseconds, TLS handshake included
 * @throws Failure `config` if the proxy is not a valid URL, `refused` if Node.js accepts any certificate
 */
export async function openPool(
  origin: URL,
  connectTimeout: number,
  env: NodeJS.ProcessEnv,
): Promise<Dispatcher> {
  if (origin.protocol === 'https:' && env['NODE_TLS_REJECT_UNAUTHORIZED'] === '0') {
    const words = 'because NODE_TLS_REJECT_UNAUTHORIZED=0 makes Node.js accept any certificate'
    const hint = 'Unset it. To trust another certificate authority, set NODE_EXTRA_CA_CERTS to its PEM file.'
    throw new Failure('refused', `Nothing is sent to ${origin.origin}, ${words}`, { hint })
  }
  const options: PoolOptions = {
    // Undici rejects Infinity; 0 means no limit.
    connectTimeout: Number.isFinite(connectTimeout) ? connectTimeout : 0,
    // HTTP/2 does not help a short-lived client, and needs another module and the handling of GOAWAY.
    allowH2: false,
    headersTimeout: 0,
    bodyTimeout: 0,
  }
  if (!isLoopback(origin.hostname) && namesProxy(env)) {
    const { openProxiedPool } = await import('./proxied-pool.ts')
    return openProxiedPool(options, env)
  }
  const { default: DirectPool } = await import('undici/lib/dispatcher/pool.js')
  return new DirectPool(origin.origin, { ...options, connect: trustedConnect })
}

function namesProxy(env: NodeJS.ProcessEnv): boolean {
  return Boolean(env['https_proxy'] || env['HTTPS_PROXY'] || env['http_proxy'] || env['HTTP_PROXY'])
}
