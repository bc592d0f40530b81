import { existsSync, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { commandFor, commandLine } from '../../cli/command-line.ts'
import type { Context } from '../../cli/context/context.ts'
import { Failure } from '../../contract/failure.ts'
import { countOf } from '../../view/format/count.ts'
import { describeBytes } from '../../view/format/describe-bytes.ts'
import type { DoctorContext } from './doctor-context.ts'
import { nearestExisting, obstacleTo } from './file-access.ts'
import { type Examined, ok, warning } from './finding.ts'

/** In bytes. With less, the next writes may fill the disk. */
const littleSpace = 100 * 1024 ** 2

/** Whether the embedded service has ever run. */
export function hasData({ directories }: Context): boolean {
  return existsSync(join(directories.data, 'chatctl.db'))
}

/** Opens the data of the embedded service only if that service is selected. @throws Failure `storage` */
export async function examineData({ context }: DoctorContext): Promise<Examined[]> {
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
