import type { Configuration } from '../config/configuration-file.ts'
import { noUpstream, readUpstream } from '../contract/upstream-address.ts'
import type { Context } from './context.ts'
import { describeReplies } from './describe-local-service.ts'

/**
 * Says that the key of the previous upstream was removed, and that a running service keeps its model server.
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
  const running = await context.findRunningService()
  const url = upstream === noUpstream ? null : readUpstream(upstream).href
  if (!running || running.upstream === url) return
  const replies = describeReplies(running.upstream)
  output.notice(
    `The service at ${running.url} (pid ${running.pid}) still replies with ${replies}. Restart it to apply the change.`,
  )
}
