import { Failure } from '../contract/failure.ts'

/** After this long, in ms, somebody should know what is being waited for. */
const silence = 2_000

interface Waiting {
  /** Milliseconds. */
  patience: number
  onWait: () => void
  signal: AbortSignal | undefined
}

/**
 * Waits for a call of the keychain, within bounds. What goes on after them goes on unheard.
 *
 * @throws Failure `unauthorized` with code `keychain_timeout`; else the signal's reason
 */
export function patiently<T>(call: Promise<T>, { patience, onWait, signal }: Waiting): Promise<T> {
  return new Promise((resolve, reject) => {
    const notice = setTimeout(onWait, silence)
    const bound = setTimeout(() => end(() => reject(timedOut(patience))), patience)
    const onAbort = (): void => end(() => reject(signal?.reason))
    const end = (settle: () => void): void => {
      clearTimeout(notice)
      clearTimeout(bound)
      signal?.removeEventListener('abort', onAbort)
      settle()
    }
    call.then(
      (value) => end(() => resolve(value)),
      (error) => end(() => reject(error)),
    )
    if (signal?.aborted) onAbort()
    else signal?.addEventListener('abort', onAbort, { once: true })
  })
}

function timedOut(patience: number): Failure {
  return new Failure('unauthorized', `The keychain did not answer within ${patience / 1_000} s`, {
    code: 'keychain_timeout',
    hint: 'Unlock it, or start it again; CHATCTL_API_KEY works without one.',
  })
}
