import type { Dispatcher } from 'undici'
import connect from 'undici/lib/api/api-connect.js'
import EnvHttpProxyAgent from 'undici/lib/dispatcher/env-http-proxy-agent.js'
import Pool from 'undici/lib/dispatcher/pool.js'
import { Failure } from '../contract/failure.ts'

/** What a pool is given, whether it goes through a proxy or not. Times are in milliseconds; 0 is no limit. */
export type PoolOptions = Pick<Pool.Options, 'connectTimeout' | 'allowH2' | 'headersTimeout' | 'bodyTimeout'>

/**
 * Opens a pool that goes through the environment's proxy where that is meant for the address.
 *
 * @throws Failure `config` where the proxy is not a URL
 */
export function openProxiedPool(options: PoolOptions, env: NodeJS.ProcessEnv): Dispatcher {
  try {
    return new EnvHttpProxyAgent({
      ...options,
      // Undici would ask the process for what is undefined.
      httpProxy: env['http_proxy'] ?? env['HTTP_PROXY'] ?? '',
      httpsProxy: env['https_proxy'] ?? env['HTTPS_PROXY'] ?? '',
      noProxy: env['no_proxy'] ?? env['NO_PROXY'] ?? '',
      // Tunnels are opened with a method that only undici's index puts on its dispatchers.
      clientFactory: (proxy, own) => Object.assign(new Pool(proxy, own), { connect }),
    })
  } catch {
    // Neither the value nor the cause, which quotes it: a proxy's URL often holds a password.
    throw new Failure('config', 'HTTPS_PROXY or HTTP_PROXY is not a valid proxy URL')
  }
}
