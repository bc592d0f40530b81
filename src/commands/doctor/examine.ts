import { exitCodeOf } from '../../cli/errors/exit-codes.ts'
import { Failure } from '../../contract/failure.ts'
import { examineConfiguration } from './configuration.ts'
import { examineCredential, examineKeychain } from './credential.ts'
import { examineData } from './data.ts'
import type { DoctorContext } from './doctor-context.ts'
import { examineEnvironment } from './environment.ts'
import { examineCache, examineDirectories, examineModes } from './file-access.ts'
import { type Examined, type Finding, failed, ok, skipped } from './finding.ts'
import { examineAddress, examineNetwork } from './network.ts'
import { examineService, serviceChecks } from './service.ts'
import { examineTerminal } from './terminal.ts'
import { examineImports, examineTranscripts } from './transcripts-and-imports.ts'
import { examineUpstream } from './upstream.ts'

type Look = (doctor: DoctorContext) => Promise<Examined[]> | Examined[]

/**
 * Runs all checks at the same time. Skips checks that need something that is missing.
 *
 * @returns the findings in the order of the table, and the exit code of the first that failed
 */
export async function examine(doctor: DoctorContext): Promise<{ checks: Finding[]; exitCode: number }> {
  const look = (check: string, at: Look) => within(check, at, doctor)
  const skip = (why: string, ...checks: string[]) => checks.map((check) => skipped(check, why))
  const { configurationFailure } = doctor.context

  const remote = async (): Promise<Examined[]> => {
    if (configurationFailure) {
      const why = 'the configuration is invalid'
      return skip(why, 'address', 'credential', 'keychain', 'network', 'upstream', ...serviceChecks, 'data')
    }
    const address = await look('address', examineAddress)
    if (address.some(({ kind }) => kind !== undefined)) {
      const why = 'no service is selected'
      return [
        ...address,
        ...skip(why, 'credential', 'keychain', 'network', 'upstream', ...serviceChecks, 'data'),
      ]
    }
    const credential = look('credential', examineCredential)
    const [found, keychain, network, upstream, service, data] = await Promise.all([
      credential,
      look('keychain', examineKeychain),
      look('network', examineNetwork),
      look('upstream', examineUpstream),
      credential.then(async (examined) =>
        examined.some(({ kind }) => kind !== undefined)
          ? skip('no credential', ...serviceChecks)
          : examineService(doctor),
      ),
      look('data', examineData),
    ])
    return [...address, ...found, ...keychain, ...network, ...upstream, ...service, ...data]
  }

  const examined = await Promise.all([
    look('version', examineVersion),
    look('configuration', examineConfiguration),
    look('environment', examineEnvironment),
    look('permissions', examineModes),
    look('directories', examineDirectories),
    look('cache', examineCache),
    remote(),
    look('transcripts', examineTranscripts),
    look('imports', examineImports),
    look('terminal', examineTerminal),
  ])
  const all = examined.flat()
  const first = all.find(({ kind }) => kind !== undefined)?.kind
  return {
    checks: all.map(({ finding }) => finding),
    exitCode: first === undefined ? 0 : exitCodeOf(first),
  }
}

/** Additional ms, because a timeout of the check itself has a better message, and loading modules takes time. */
const grace = 5_000

/** Runs one check with a timeout. Its work continues after the timeout, but its result is ignored. */
async function within(check: string, look: Look, doctor: DoctorContext): Promise<Examined[]> {
  const { bound, context } = doctor
  let timer: NodeJS.Timeout | undefined
  let onAbort: (() => void) | undefined
  try {
    const ended = new Promise<never>((_, reject) => {
      const late = new Failure('timeout', `This check did not finish within ${(bound + grace) / 1_000} s`, {
        hint: `Allow more time with: --timeout ${Math.ceil((2 * bound) / 1_000)}s`,
      })
      timer = setTimeout(() => reject(late), Math.min(bound + grace, 2 ** 31 - 1))
      onAbort = () => reject(context.signal.reason)
      context.signal.addEventListener('abort', onAbort, { once: true })
    })
    return await Promise.race([look(doctor), ended])
  } catch (error) {
    context.signal.throwIfAborted()
    return [failed(check, error, context.connection())]
  } finally {
    clearTimeout(timer)
    if (onAbort) context.signal.removeEventListener('abort', onAbort)
  }
}

/** bin/run.js has already refused a Node.js version that is too old. */
function examineVersion({ context, version }: DoctorContext): Examined[] {
  const { node } = process.versions
  const where = `${process.platform} ${process.arch}`
  const source = context.host.installation.isExecutable
    ? 'in the executable'
    : `${version.neededNode} or newer`
  return [ok('version', `chatctl ${version.own}, Node.js ${node} (${source}), ${where}`)]
}
