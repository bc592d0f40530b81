import type { Dispatcher } from 'undici'
import { isLoopback } from '../../contract/base-url.ts'
import { Failure } from '../../contract/failure.ts'
import { trustedConnect } from '../../system/trusted-connect.ts'

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
  const options = {
    // Undici rejects Infinity; 0 means no limit.
    connectTimeout: Number.isFinite(connectTimeout) ? connectTimeout : 0,
    // HTTP/2 does not help a short-lived client, and needs another module and the handling of GOAWAY.
    allowH2: false,
    headersTimeout: 0,
    bodyTimeout: 0,
  }
  if (!isLoopback(origin.hostname) && namesProxy(env)) {
    return openProxiedPool(options, env)
  }
  const { default: DirectPool } = await import('undici/lib/dispatcher/pool.js')
  return new DirectPool(origin.origin, { ...options, connect: trustedConnect })
}

/**
 * Opens a pool that uses the proxy of the environment for the addresses to which it applies.
 *
 * @throws Failure `config` if the proxy is not a valid URL
 */
async function openProxiedPool(options: object, env: NodeJS.ProcessEnv): Promise<Dispatcher> {
  const { default: connect } = await import('undici/lib/api/api-connect.js')
  const { default: EnvHttpProxyAgent } = await import('undici/lib/dispatcher/env-http-proxy-agent.js')
  const { default: Pool } = await import('undici/lib/dispatcher/pool.js')
  try {
    return new EnvHttpProxyAgent({
      ...options,
      // If undefined, undici reads the environment of the process.
      httpProxy: env['http_proxy'] ?? env['HTTP_PROXY'] ?? '',
      httpsProxy: env['https_proxy'] ?? env['HTTPS_PROXY'] ?? '',
      noProxy: env['no_proxy'] ?? env['NO_PROXY'] ?? '',
      // The proxy agent calls `connect`, which only the index of undici adds to its dispatchers.
      clientFactory: (proxy, own) => Object.assign(new Pool(proxy, own), { connect }),
    })
  } catch {
    // Without the value and the cause, which quotes it: the URL of a proxy often contains a password.
    throw new Failure('config', 'HTTPS_PROXY or HTTP_PROXY is not a valid proxy URL')
  }
}

function namesProxy(env: NodeJS.ProcessEnv): boolean {
  return Boolean(env['https_proxy'] || env['HTTPS_PROXY'] || env['http_proxy'] || env['HTTP_PROXY'])
}
