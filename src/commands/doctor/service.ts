import { commandFor } from '../../cli/command-line.ts'
import { describeFailure } from '../../cli/errors/describe-failure.ts'
import type { ClientEvent } from '../../client/client-event.ts'
import type { ApiResponse } from '../../client/response/response.ts'
import { durationFlagFor, roundDuration } from '../../config/units.ts'
import { Failure } from '../../contract/failure.ts'
import { testProgramModel } from '../../contract/test-program.ts'
import { hasData } from './data.ts'
import type { DoctorContext } from './doctor-context.ts'
import { type Examined, failed, ok, skipped, warning } from './finding.ts'

export const serviceChecks = ['service', 'clock', 'quota', 'models'] as const

/** What the responses of the service show, including errors. Bounded by its requests. */
export async function examineService(doctor: DoctorContext): Promise<Examined[]> {
  const { context } = doctor
  if (context.target().kind === 'local' && !hasData(context)) {
    const why = 'no data yet'
    const next = '; the first command that needs the embedded service creates it'
    return serviceChecks.map((check) => skipped(check, check === 'service' ? why + next : why))
  }
  const heard: { limits?: Record<string, string>; elapsed?: number } = {}
  const observe = (event: ClientEvent): void => {
    if (event.type !== 'response') return
    heard.limits = event.limits
    heard.elapsed ??= event.elapsed
  }
  try {
    const client = await doctor.connect(observe)
    const profile = await client.users.profile()
    const elapsed = Math.round(heard.elapsed ?? 0)
    const who = profile.body?.email ?? profile.body?.id ?? 'an unnamed user'
    const clock = examineClock(profile.headers['date'], context.host.clock.now())
    const models = await examineModels(doctor, () => client.chat.models())
    const quota = examineQuota(doctor, heard.limits ?? profile.headers)
    return [describeProfile(profile, `responds in ${elapsed} ms; signed in as ${who}`), clock, quota, models]
  } catch (error) {
    return [
      failed('service', error, context.connection()),
      examineClock(heard.limits?.['date'], context.host.clock.now()),
      examineQuota(doctor, heard.limits),
      skipped('models', 'the service check failed'),
    ]
  }
}

function describeProfile({ faults }: ApiResponse<unknown>, words: string): Examined {
  if (faults.length === 0) return ok('service', words)
  const odd = faults.map(({ path, message }) => `${path} ${message}`).join('; ')
  return warning('service', `${words}. Its response does not match the documented API: ${odd}`)
}

function examineQuota(
  { readQuota, context }: DoctorContext,
  headers: Record<string, string> | undefined,
): Examined {
  const { limit, remaining, reset } = headers === undefined ? {} : readQuota(headers)
  if (remaining === undefined) return skipped('quota', 'the service does not report it')
  const of = limit === undefined ? '' : ` of ${limit}`
  const when = reset === undefined ? '' : `, resets in ${roundDuration(reset)}`
  const words = `${remaining}${of} requests are left${when}`
  if (remaining > (limit ?? 0) / 10) return ok('quota', words)
  const wait = reset === undefined ? '1h' : durationFlagFor(reset)
  const hint = `Let commands wait for it with: --max-wait ${wait}`
  return warning('quota', words, context.options.max_wait.source === 'default' ? hint : null)
}

interface Model {
  id?: unknown
  owned_by?: unknown
}

/** A key may lack the permission to list models: that is a warning, not a failure. */
async function examineModels(
  { context }: DoctorContext,
  ask: () => Promise<{ body: { data?: readonly Model[] | null | undefined } | undefined }>,
): Promise<Examined> {
  try {
    const { body } = await ask()
    const models = body?.data ?? []
    const ids = models.map(({ id }) => id)
    const wanted = context.options.model.value
    const all = commandFor(context, 'chat', 'models')
    if (ids.length === 0) return warning('models', 'the service offers no models', null)
    if (wanted === undefined || ids.includes(wanted)) return ok('models', describeModels(models, wanted))
    return warning(
      'models',
      `${wanted}, from ${context.options.model.from}, is not one of the ${ids.length} models`,
      `List them with: ${all}`,
    )
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const { message, hint = null } = describeFailure(error, context.connection())
    return warning('models', `cannot be listed: ${message}`, hint)
  }
}

function describeModels(models: readonly Model[], wanted: string | undefined): string {
  const isTestProgram = ({ id, owned_by: owner }: Model) => id === testProgramModel && owner === 'chatctl'
  const names = models.map(
    (model) => `${model.id}${isTestProgram(model) ? ' (the built-in test program)' : ''}`,
  )
  const some = names.slice(0, 3).join(', ')
  const more = names.length > 3 ? ` and ${names.length - 3} more` : ''
  return `${some}${more}${wanted === undefined ? '' : `; selected: ${wanted}`}`
}

/** Maximum difference in ms. With more, tokens and waits are timed wrongly. */
const tolerance = 60_000

const howToSet: Partial<Record<NodeJS.Platform, string>> = {
  darwin: 'sudo sntp -sS time.apple.com',
  win32: 'w32tm /resync',
}

/**
 * RFC 9110 section 6.6.1: Date is when the response was created, to the second.
 *
 * @param date of a response; undefined if there was none
 */
function examineClock(date: string | undefined, now: number): Examined {
  const said = Date.parse(date ?? '')
  if (Number.isNaN(said)) return skipped('clock', 'no response has a Date header')
  const off = now - said
  if (Math.abs(off) <= tolerance) return ok('clock', 'matches the clock of the service')
  const way = off > 0 ? 'ahead of' : 'behind'
  const seconds = Math.round(Math.abs(off) / 1_000)
  return warning(
    'clock',
    `is ${seconds} s ${way} the clock of the service, so tokens are renewed and rate limits are timed wrongly`,
    howToSet[process.platform] ?? 'sudo timedatectl set-ntp true',
  )
}
