import type { Dispatcher } from 'undici'
import connect from 'undici/lib/api/api-connect.js'
import EnvHttpProxyAgent from 'undici/lib/dispatcher/env-http-proxy-agent.js'
import Pool from 'undici/lib/dispatcher/pool.js'
import { Failure } from '../contract/failure.ts'
import type { PoolOptions } from './pool.ts'

/**
 * Opens a pool that goes through the environment's proxy where that is meant for the address.
 *
 * @throws Failure `config` where the proxy is not a URL
 */
export function openProxiedPool(options: PoolOptions): Dispatcher {
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
