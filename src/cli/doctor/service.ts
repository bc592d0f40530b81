import type { ClientEvent } from '../../client/client-event.ts'
import type { ApiResponse } from '../../client/response.ts'
import { roundDuration } from '../../config/duration.ts'
import { Failure } from '../../contract/failure.ts'
import { commandFor } from '../command-line.ts'
import { hintOf } from '../hints.ts'
import { examineClock } from './clock.ts'
import { hasData } from './data.ts'
import type { DoctorContext } from './doctor-context.ts'
import { type Examined, failed, ok, skipped, warning } from './finding.ts'

export const serviceChecks = ['service', 'clock', 'quota', 'models'] as const

/** What the answers of the service say, those included that refuse. Bounded by its requests. */
export async function examineService(doctor: DoctorContext): Promise<Examined[]> {
  const { context } = doctor
  if (context.target().kind === 'local' && !hasData(context)) {
    const why = 'the embedded service has no data yet; the first command that needs it makes it'
    return serviceChecks.map((check) => skipped(check, why))
  }
  const heard: { headers?: Record<string, string>; elapsed?: number } = {}
  const observe = (event: ClientEvent): void => {
    if (event.type !== 'response') return
    heard.headers = event.headers
    heard.elapsed ??= event.elapsed
  }
  try {
    const client = await doctor.connect(observe)
    const profile = await client.users.profile()
    const elapsed = Math.round(heard.elapsed ?? 0)
    const who = profile.body?.email ?? profile.body?.id ?? 'somebody'
    const clock = examineClock(profile.headers['date'], context.host.clock.now())
    const models = await examineModels(doctor, () => client.chat.models())
    const quota = examineQuota(doctor, heard.headers ?? profile.headers)
    return [
      describeProfile(profile, `answers in ${elapsed} ms, and knows you as ${who}`),
      clock,
      quota,
      models,
    ]
  } catch (error) {
    const isRefused = error instanceof Failure && error.status === 401
    return [
      failed('service', error, isRefused ? context.reauthenticationHint() : undefined),
      examineClock(heard.headers?.['date'], context.host.clock.now()),
      examineQuota(doctor, heard.headers),
      skipped('models', 'the service does not answer as it should'),
    ]
  }
}

function describeProfile({ faults }: ApiResponse<unknown>, words: string): Examined {
  if (faults.length === 0) return ok('service', words)
  const odd = faults.map(({ path, message }) => `${path} ${message}`).join('; ')
  return warning('service', `${words}. Its answer departs from the interface: ${odd}`)
}

function examineQuota(
  { readQuota, context }: DoctorContext,
  headers: Record<string, string> | undefined,
): Examined {
  const { limit, remaining, reset } = headers === undefined ? {} : readQuota(headers)
  if (remaining === undefined) return skipped('quota', 'the service does not say what is left of it')
  const of = limit === undefined ? '' : ` of ${limit}`
  const when = reset === undefined ? '' : `, reset in ${roundDuration(reset)}`
  const words = `${remaining}${of} requests are left${when}`
  if (remaining > (limit ?? 0) / 10) return ok('quota', words)
  const wait = reset === undefined ? '1h' : roundDuration(reset)
  const hint = `Wait, or have a command wait by itself: --max-wait ${wait}`
  return warning('quota', words, context.options.max_wait.source === 'default' ? hint : null)
}

interface Model {
  id?: unknown
}

/** A key need not be allowed to see models; whoever may not has a warning, and not a failure. */
async function examineModels(
  { context }: DoctorContext,
  ask: () => Promise<{ body: { data?: readonly Model[] | null | undefined } | undefined }>,
): Promise<Examined> {
  try {
    const { body } = await ask()
    const ids = (body?.data ?? []).map(({ id }) => id)
    const wanted = context.options.model.value
    const all = commandFor(context, 'chat', 'models')
    if (ids.length === 0) return warning('models', 'the service offers none', null)
    if (wanted === undefined || ids.includes(wanted)) return ok('models', describeModels(ids, wanted))
    return warning(
      'models',
      `${wanted}, from ${context.options.model.from}, is not among the ${ids.length} models`,
      all,
    )
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return warning('models', `cannot be listed: ${error.message}`, hintOf(error) ?? null)
  }
}

function describeModels(ids: readonly unknown[], wanted: string | undefined): string {
  const some = ids.slice(0, 3).join(', ')
  const more = ids.length > 3 ? ` and ${ids.length - 3} more` : ''
  return `${some}${more}${wanted === undefined ? '' : `; ${wanted} is yours`}`
}
