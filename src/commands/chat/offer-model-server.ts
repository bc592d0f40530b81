import type { Context } from '../../cli/context/context.ts'
import { Failure } from '../../contract/failure.ts'
import { noModelServer } from '../../contract/model-server-address.ts'
import { countOf } from '../../view/format/quantities.ts'

/**
 * Offers once to use a model server that runs on this machine, and remembers the choice. Does nothing in a
 * non-interactive run, with JSON output, or if a model server was chosen before, also `none`.
 */
export async function offerModelServer(context: Context): Promise<void> {
  const { output, prompter, host } = context
  if (context.target().kind !== 'local' || context.dryRun) return
  if (!prompter.canAsk || output.isJson || output.isQuiet || host.modelServers.length === 0) return
  if (context.embedded.modelServer().source !== 'default') return
  const [first] = await context.embedded.detectModelServers()
  if (!first) return
  const { name, models, id } = first
  const agreed = await prompter.agree(`${name} is running here with ${countOf(models, 'model')}. Use it?`)
  const chosen = agreed ? id : noModelServer
  try {
    await context.embedded.rememberModelServer(chosen)
  } catch (error) {
    // The choice applies to this run at least.
    if (!(error instanceof Failure)) throw error
    await output.warn(`${error.message}. chatctl will ask again`)
    return
  }
  output.notice(
    chosen === noModelServer
      ? `chatctl will not ask again. Use a model server later with: chatctl config set model_server=${id}`
      : `Replies come from ${chosen} from now on. Change that with: chatctl config set model_server=none`,
  )
}
