import { exitCodeOf } from '../../cli/errors/exit-codes.ts'
import { Failure } from '../../contract/failure.ts'
import { unlessAborted } from '../../system/unless-aborted.ts'
import type { Finding } from '../../view/checks.ts'
import { examineConfiguration } from './configuration.ts'
import {
  examineAddress,
  examineCredential,
  examineKeychain,
  examineModelServer,
  examineNetwork,
} from './connection.ts'
import { type Doctor, type Examined, failed, ok, skipped } from './finding.ts'
import { examineDirectories, examineEnvironment, examineImports } from './machine.ts'
import { examineData, examineService, serviceChecks } from './service.ts'

type Look = (doctor: Doctor) => Promise<Examined[]> | Examined[]

/**
 * Runs all checks at the same time. Skips checks that need something that is missing.
 * @returns the findings in the order of the table, and the exit code of the first that failed
 */
export async function examine(doctor: Doctor): Promise<{ checks: Finding[]; exitCode: number }> {
  const look = (check: string, at: Look) => within(check, at, doctor)
  const examined = await Promise.all([
    look('version', examineVersion),
    look('configuration', examineConfiguration),
    look('environment', examineEnvironment),
    look('directories', examineDirectories),
    examineRemote(doctor),
    look('imports', examineImports),
  ])
  const all = examined.flat()
  const first = all.find(({ kind }) => kind !== undefined)?.kind
  return {
    checks: all.map(({ finding }) => finding),
    exitCode: first === undefined ? 0 : exitCodeOf(first),
  }
}

/** The checks that need a valid configuration; all but the first need a service. */
async function examineRemote(doctor: Doctor): Promise<Examined[]> {
  const look = (check: string, at: Look) => within(check, at, doctor)
  const skip = (why: string, ...checks: string[]) => checks.map((check) => skipped(check, why))
  const others = ['credential', 'keychain', 'network', 'model server', ...serviceChecks, 'data']
  if (doctor.context.configurationFailure) return skip('the configuration is invalid', 'address', ...others)
  const address = await look('address', examineAddress)
  if (hasFailed(address)) return [...address, ...skip('no service is selected', ...others)]
  const credential = look('credential', examineCredential)
  const examined = await Promise.all([
    credential,
    look('keychain', examineKeychain),
    look('network', examineNetwork),
    look('model server', examineModelServer),
    credential.then((found) =>
      hasFailed(found) ? skip('no credential', ...serviceChecks) : examineService(doctor),
    ),
    look('data', examineData),
  ])
  return [...address, ...examined.flat()]
}

function hasFailed(examined: readonly Examined[]): boolean {
  return examined.some(({ kind }) => kind !== undefined)
}

/** Additional ms, because a timeout of the check itself has a better message, and loading modules takes time. */
const grace = 5_000

/** Runs one check with a timeout. Its work continues after the timeout, but its result is ignored. */
async function within(check: string, look: Look, doctor: Doctor): Promise<Examined[]> {
  const { bound, context } = doctor
  const limit = bound + grace
  const ended = new AbortController()
  const late = context.host.clock.sleep(Math.min(limit, 2 ** 31 - 1), ended.signal).then(() => {
    throw new Failure('timeout', `This check did not finish within ${limit / 1_000} s`, {
      hint: `Allow more time with: --timeout ${Math.ceil((2 * bound) / 1_000)}s`,
    })
  })
  late.catch(() => {})
  try {
    return await unlessAborted(Promise.race([look(doctor), late]), context.signal)
  } catch (error) {
    context.signal.throwIfAborted()
    return [failed(check, error, context.connection())]
  } finally {
    ended.abort()
  }
}

/** bin/run.js has already refused a Node.js version that is too old. */
function examineVersion({ context, version }: Doctor): Examined[] {
  const { node } = process.versions
  const where = `${process.platform} ${process.arch}`
  const source = context.host.installation.isExecutable
    ? 'in the executable'
    : `${version.neededNode} or newer`
  return [ok('version', `chatctl ${version.own}, Node.js ${node} (${source}), ${where}`)]
}
