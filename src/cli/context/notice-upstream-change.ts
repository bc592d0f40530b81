import type { Configuration } from '../../config/configuration-file.ts'
import { isLoopback } from '../../contract/base-url.ts'
import { noUpstream, readUpstream, upstreamNames } from '../../contract/upstream-address.ts'
import type { Context } from './context.ts'

/**
 * Says that the key of the previous upstream was removed, and that the new one does not answer.
 *
 * @param after the configuration with the change; that of the context is without it
 */
export async function noticeUpstreamChange(context: Context, after: Configuration): Promise<void> {
  const { output, dryRun, configuration: before } = context
  if (before.upstream_key_file !== undefined && after.upstream_key_file === undefined) {
    const words = dryRun ? 'Would remove' : 'Removed'
    output.notice(`${words} upstream_key_file, the key of ${before.upstream}`)
  }
  if (dryRun) return
  const { upstream = noUpstream } = after
  if (upstream !== noUpstream) await noticeSilentServer(context, upstream, readUpstream(upstream).href)
}

/** Says that a model server on this machine lists no models. Other machines are not contacted. */
async function noticeSilentServer(context: Context, upstream: string, address: string): Promise<void> {
  const known = context.host.modelServers.find((server) => server.upstream === upstream)
  const isNear = !upstreamNames.includes(upstream) && isLoopback(new URL(address).hostname)
  if (!known && !isNear) return
  const url = known?.url ?? address.replace(/\/$/, '')
  if ((await context.embedded.detectModelServers([{ upstream, name: upstream, url }])).length > 0) return
  context.output.notice(
    `No model server has answered at ${url} with a list of models. Start it if it does not run, and check it with: chatctl doctor`,
  )
}
