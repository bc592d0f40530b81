import type { Dispatcher, Pool } from 'undici'
import { isLoopback } from '../contract/base-url.ts'
import { Failure } from '../failure.ts'

type PoolOptions = Pick<Pool.Options, 'connectTimeout' | 'allowH2' | 'headersTimeout' | 'bodyTimeout'>

/**
 * Opens the one keep-alive pool of a client. Undici is loaded here and not before, and its proxy
 * agent only where the environment names a proxy (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`, upper
 * or lower case). Loopback never goes through one.
 *
 * @param connectTimeout milliseconds, TLS handshake included
 * @throws Failure `config` where the environment's proxy is not a URL
 */
export async function openPool(origin: URL, connectTimeout: number): Promise<Dispatcher> {
  const options: PoolOptions = {
    // Undici refuses Infinity; 0 is its word for no bound.
    connectTimeout: Number.isFinite(connectTimeout) ? connectTimeout : 0,
    // HTTP/2 gains a short-lived client nothing and costs it a module and a GOAWAY to understand.
    allowH2: false,
    headersTimeout: 0,
    bodyTimeout: 0,
  }
  if (!isLoopback(origin.hostname) && namesProxy(process.env)) {
    return openProxied(options)
  }
  const { default: Pool } = await import('undici/lib/dispatcher/pool.js')
  return new Pool(origin.origin, options)
}

async function openProxied(options: PoolOptions): Promise<Dispatcher> {
  const [{ default: EnvHttpProxyAgent }, { default: Pool }, { default: connect }] = await Promise.all([
    import('undici/lib/dispatcher/env-http-proxy-agent.js'),
    import('undici/lib/dispatcher/pool.js'),
    import('undici/lib/api/api-connect.js'),
  ])
  try {
    return new EnvHttpProxyAgent({
      ...options,
      // Tunnels are opened with a method that only undici's index puts on its dispatchers.
      clientFactory: (proxy, own) => Object.assign(new Pool(proxy, own), { connect }),
    })
  } catch {
    // Neither the value nor the cause, which quotes it: a proxy's URL often holds a password.
    throw new Failure('config', 'HTTPS_PROXY or HTTP_PROXY is not a URL that can be used as a proxy')
  }
}

function namesProxy(env: NodeJS.ProcessEnv): boolean {
  return Boolean(env['https_proxy'] || env['HTTPS_PROXY'] || env['http_proxy'] || env['HTTP_PROXY'])
}
