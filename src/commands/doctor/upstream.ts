import { describeReplies, hintOfModelServer, nameModelServer } from '../../cli/context/connection.ts'
import { Failure } from '../../contract/failure.ts'
import { describeUpstream } from '../../contract/upstream-address.ts'
import { countOf } from '../../view/format/count.ts'
import type { DoctorContext } from './doctor-context.ts'
import { type Examined, ok, skipped, warning } from './finding.ts'

/** What produces the replies of the embedded service, and whether it responds. @throws Failure for an invalid value */
export async function examineUpstream({ context }: DoctorContext): Promise<Examined[]> {
  if (context.target().kind === 'remote') {
    return [skipped('upstream', 'only the embedded service, which is not selected, has one')]
  }
  const choice = context.embedded.upstream()
  const { server, source, from } = choice
  const running = await context.embedded.findRunningService()
  if (running) {
    const words = `the service at ${running.url}, pid ${running.pid}, replies with ${describeReplies(running.upstream)}`
    if (source === 'default' || (server?.url ?? null) === running.upstream) return [ok('upstream', words)]
    const chosen = `${from} selects ${describeReplies(server?.url ?? null)}`
    return [warning('upstream', `${words}, but ${chosen}`, 'Restart that service to apply the change.')]
  }
  if (!server) {
    const chosen = source === 'default' ? 'none is set' : `none, from ${from}`
    const hint = 'Get replies from a model with: chatctl config set upstream=ollama'
    return [ok('upstream', `${chosen}; the built-in test program replies`, hint)]
  }
  const place = `${describeUpstream(server.url)}, from ${from}`
  try {
    const models = await context.embedded.countUpstreamModels(server)
    if (models > 0) return [ok('upstream', `${place}, has ${countOf(models, 'model')}`)]
    return [warning('upstream', `${place}, has no models`, 'Add a model to the model server.')]
  } catch (error) {
    if (!(error instanceof Failure) || error.kind !== 'unreachable') throw error
    const service = { upstream: server.url, running: undefined, upstreamFrom: choice }
    const hint = hintOfModelServer(error, service)
    throw new Failure('unreachable', `${nameModelServer(error.message, server.url)}, from ${from}`, {
      ...(hint !== undefined && { hint }),
    })
  }
}
