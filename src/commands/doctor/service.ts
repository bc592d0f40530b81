import { existsSync, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { commandFor, commandLine } from '../../cli/command-line.ts'
import type { Context } from '../../cli/context/context.ts'
import { describeFailure } from '../../cli/errors/describe-failure.ts'
import type { ClientEvent } from '../../client/client-event.ts'
import { readPolicy, readQuota } from '../../client/response/rate-limit-headers.ts'
import type { ApiResponse } from '../../client/response/response.ts'
import { durationFlagFor, roundDuration } from '../../config/units.ts'
import { Failure } from '../../contract/failure.ts'
import { testProgramModel } from '../../contract/model-server-address.ts'
import { countOf, describeBytes } from '../../view/format/quantities.ts'
import { type Doctor, type Examined, failed, ok, skipped, warning } from './finding.ts'
import { nearestExisting, obstacleTo } from './machine.ts'

export const serviceChecks = ['service', 'clock', 'quota', 'models'] as const

/** What the responses of the service show, including errors. Bounded by its requests. */
export async function examineService(doctor: Doctor): Promise<Examined[]> {
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
  return warning('service', `${words}. Its response does not match the documented interface: ${odd}`)
}

function examineQuota({ context }: Doctor, headers: Record<string, string> | undefined): Examined {
  const quota = headers && readQuota(headers, context.host.clock.now())
  const { remaining, reset, limit = headers && readPolicy(headers)?.limit } = quota ?? {}
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
  { context }: Doctor,
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

/** In bytes. With less, the next writes may fill the disk. */
const littleSpace = 100 * 1024 ** 2

/** Whether the embedded service has ever run. */
function hasData({ directories }: Context): boolean {
  return existsSync(join(directories.data, 'chatctl.db'))
}

/** Opens the data of the embedded service only if that service is selected. @throws Failure `storage` */
export async function examineData({ context }: Doctor): Promise<Examined[]> {
  const { data } = context.directories
  const path = join(data, 'chatctl.db')
  const free = freeSpace(data)
  const space = free === undefined ? '' : `; ${describeBytes(free)} free`
  const judge = (words: string): Examined[] => {
    const isLittle = free !== undefined && free < littleSpace
    if (!isLittle) return [ok('data', words + space)]
    return [
      warning(
        'data',
        words + space,
        'Free space on that disk, or set XDG_DATA_HOME to a directory on another disk.',
      ),
    ]
  }
  if (!hasData(context)) {
    if (context.target().kind === 'local') demandPlaceFor(data)
    return judge(`${path} does not exist yet`)
  }
  const size = describeBytes(statSync(path).size)
  if (context.target().kind === 'remote')
    return judge(`${path} (${size}), of the embedded service, which is not selected`)
  const { administration, other } = await context.administration.openOwnToRead()
  const { users, messages, running } = await administration.status()
  const words = `${path} (${size}): ${countOf(users, 'user')}, ${countOf(messages, 'message')}`
  if (other) {
    const hint = `Use that service with: ${commandLine('auth', 'login', '--base-url', other.url)}`
    return [warning('data', `${words}; the service at ${other.url} uses ${other.place}`, hint)]
  }
  if (running === null) return judge(`${words}; no server is running`)
  const { url, pid, health } = running
  if (health === 'ready') return judge(`${words}; the server at ${url}, pid ${pid}, is ready`)
  const look = commandFor(context, 'service', 'status')
  return [
    warning(
      'data',
      `${words}; the server at ${url}, pid ${pid}, reports: ${health}`,
      `Show details with: ${look}`,
    ),
  ]
}

/** @throws Failure `storage` if the directory cannot be created */
function demandPlaceFor(directory: string): void {
  const obstacle = obstacleTo(directory)
  if (obstacle === undefined) return
  throw new Failure('storage', obstacle, { hint: 'Set XDG_DATA_HOME to a directory that you can write to.' })
}

/** Free bytes on the disk of the directory; undefined if the system does not report them. */
function freeSpace(directory: string): number | undefined {
  try {
    const { bavail, bsize } = statfsSync(nearestExisting(directory))
    return bavail * bsize
  } catch {
    return undefined
  }
}
