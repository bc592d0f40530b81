import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { Failure } from '../../contract/failure.ts'
import type { Run } from '../../run/run.ts'
import { describeSystemError } from '../../system/describe-system-error.ts'
import { waitForProcessLock } from '../../system/files/process-lock.ts'

/** Maximum wait in ms: a PATCH may take its whole timeout, and then the settings are read back. */
const maxWait = 120_000

/**
 * Runs work under a lock on the settings of the service, so that no concurrent chatctl process of this user overwrites
 * a change that it has not seen.
 * @throws Failure `conflict` if another process holds the lock for too long; else the error of the work
 */
export async function withSettingsLock<T>(
  run: Pick<Run, 'directories' | 'service' | 'signal' | 'say' | 'warn'>,
  work: () => Promise<T>,
): Promise<T> {
  const { directories, service, signal, say, warn } = run
  const name = createHash('sha256').update(`settings ${service}`).digest('hex').slice(0, 32)
  const onWait = () => say('Waiting for another chatctl process that is changing these settings…')
  let release: (() => void) | undefined
  try {
    release = await waitForProcessLock(join(directories.locks, `${name}.lock`), { signal, maxWait, onWait })
  } catch (cause) {
    if (signal.aborted) throw signal.reason
    const why = cause instanceof Failure ? cause.message : describeSystemError(cause)
    await warn(
      `Cannot lock the settings, so another chatctl process on this machine may change them at the same time: ${why}`,
    )
    // A read-only home directory must not prevent the change.
    return work()
  }
  if (!release) {
    const words = 'Another chatctl process has been changing the settings of this service for two minutes'
    const hint = 'Nothing was sent. Run the command again when the other process has ended.'
    throw new Failure('conflict', words, { hint })
  }
  try {
    return await work()
  } finally {
    release()
  }
}
