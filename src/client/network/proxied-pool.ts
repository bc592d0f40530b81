import type { Dispatcher } from 'undici'
import connect from 'undici/lib/api/api-connect.js'
import EnvHttpProxyAgent from 'undici/lib/dispatcher/env-http-proxy-agent.js'
import Pool from 'undici/lib/dispatcher/pool.js'
import { Failure } from '../../contract/failure.ts'

/** Options of a pool, with or without a proxy. Times are in milliseconds; 0 means no limit. */
export type PoolOptions = Pick<Pool.Options, 'connectTimeout' | 'allowH2' | 'headersTimeout' | 'bodyTimeout'>

/**
 * Opens a pool that uses the proxy of the environment for the addresses to which it applies.
 *
 * @throws Failure `config` if the proxy is not a valid URL
 */
export function openProxiedPool(options: PoolOptions, env: NodeJS.ProcessEnv): Dispatcher {
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
