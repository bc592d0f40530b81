import type { Dispatcher } from 'undici'
import { Failure } from '../failure.ts'
import { isLoopback } from './address.ts'

/**
 * Opens the one keep-alive pool of a client. Undici is loaded here and not before, and its proxy
 * agent only where the environment names a proxy (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`, upper
 * or lower case). Loopback never goes through one.
 *
 * @param connectTimeout milliseconds, TLS handshake included
 * @throws Failure `config` where the environment's proxy is not a URL
 */
export async function openPool(origin: URL, connectTimeout: number): Promise<Dispatcher> {
  const options = {
    connectTimeout,
    // HTTP/2 gains a short-lived client nothing and costs it a module and a GOAWAY to understand.
    allowH2: false,
    headersTimeout: 0,
    bodyTimeout: 0,
  }
  if (!isLoopback(origin.hostname) && namesProxy(process.env)) {
    const { default: EnvHttpProxyAgent } = await import('undici/lib/dispatcher/env-http-proxy-agent.js')
    try {
      return new EnvHttpProxyAgent(options)
    } catch (cause) {
      // Not the value itself: a proxy's URL often holds a password.
      throw new Failure('config', 'HTTPS_PROXY or HTTP_PROXY is not a URL that can be used as a proxy', {
        cause,
      })
    }
  }
  const { default: Pool } = await import('undici/lib/dispatcher/pool.js')
  return new Pool(origin.origin, options)
}

function namesProxy(env: NodeJS.ProcessEnv): boolean {
  return Boolean(env['https_proxy'] || env['HTTPS_PROXY'] || env['http_proxy'] || env['HTTP_PROXY'])
}
