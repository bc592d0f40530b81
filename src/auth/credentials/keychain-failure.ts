import type { Advice } from '../../contract/advice.ts'
import { Failure } from '../../contract/failure.ts'
import type { KeychainItem } from './keychain-items.ts'

interface KeychainFault {
  code: string
  /** Matches the error messages of the operating systems, which have no codes. */
  words: RegExp
  /** May contain `WORDS`, the error message. */
  message: string
  hint?: string
  advice?: Advice
}

const faults: readonly KeychainFault[] = [
  {
    code: 'keychain_not_loaded',
    // Of `boot/native-addon.ts`. It contains a message of the system, so it comes first.
    words: /^the cache directory cannot be used/,
    message: 'The keychain cannot be loaded: WORDS',
    hint: `Set ${process.platform === 'win32' ? 'LOCALAPPDATA' : 'XDG_CACHE_HOME'} to a directory that only you can write to, on a file system that is not mounted with noexec. CHATCTL_API_KEY needs no keychain.`,
  },
  {
    code: 'keychain_not_loaded',
    // Of `call-keychain-apart.ts`.
    words: /^spawn .* ENOENT$/,
    message: 'The keychain cannot be loaded, because the program was moved or removed while it runs: WORDS',
    hint: 'Start it again from its new location.',
  },
  {
    code: 'keychain_not_loaded',
    // Of `@napi-rs/keyring`, `require`, `boot/native-addon.ts`, and dlopen(3).
    words: /native binding|cannot find module|cannot open shared object|version .* not found/i,
    message:
      'The keychain cannot be loaded: the native code of the package @napi-rs/keyring is not installed, or does not run on this system',
    advice: { code: 'reinstall_for_keychain' },
  },
  {
    code: 'keychain_ambiguous',
    words: /matched by \d+ credentials/,
    message: 'The keychain has more than one item for this profile',
    hint: 'Delete them in the password manager of your desktop, and sign in again. On Linux: secret-tool clear ITEM',
  },
  {
    code: 'keychain_without_collection',
    // Before `keychain_locked`, whose pattern also matches this message.
    words: /no result found/i,
    message:
      'The Secret Service runs, but has no default collection (keyring) in which to store a credential',
    advice: { code: 'create_keyring' },
  },
  {
    code: 'keychain_locked',
    words:
      /islocked|\blocked\b|prompt was dismissed|access platform storage|interaction is not allowed|user cancell?ed/i,
    message: 'The keychain is locked',
    hint: 'Unlock it and try again, or set CHATCTL_API_KEY, which needs no keychain.',
  },
  {
    code: 'keychain_unavailable',
    words:
      /failed to connect|no secret service provider|serviceunknown|not provided by any|name has no owner|namehasnoowner|dbus_session_bus_address|autolaunch|no such file|connection refused|failed to execute program|spawn\./i,
    message:
      process.platform === 'linux'
        ? 'No keychain is available: no Secret Service is running, such as gnome-keyring'
        : 'No keychain is available',
    advice: { code: 'no_keychain' },
  },
  {
    code: 'keychain_timeout',
    words: /did not receive a reply|timed? ?out/i,
    message: 'The keychain does not respond',
    hint: 'Restart it, or set CHATCTL_API_KEY, which needs no keychain.',
  },
]

const wholeKeychain = /^keychain_(locked|not_loaded|unavailable|timeout|without_collection)$/

/** Whether a failure is of the whole keychain, rather than of one item. */
export function isOfWholeKeychain({ code }: Failure): boolean {
  return wholeKeychain.test(code)
}

/**
 * Describes an error of the keychain. All have exit code 4 and differ in their `code`.
 *
 * @param item for the secret-tool command in the hint
 */
export function keychainFailure(cause: unknown, item: KeychainItem): Failure {
  const words = cause instanceof Error ? cause.message : String(cause)
  const fault = faults.find((known) => known.words.test(words))
  if (fault) {
    const { code, hint, advice } = fault
    const message = fault.message.replace('WORDS', () => words)
    return new Failure('unauthorized', message, {
      code,
      hint: hint?.replace('ITEM', `service ${item.service} username ${item.account}`),
      advice: advice && [advice],
      cause,
    })
  }
  const [first = ''] = words.split('\n')
  return new Failure('unauthorized', `The keychain failed: ${first}`, {
    code: 'keychain_failed',
    hint: 'Set CHATCTL_API_KEY, which needs no keychain.',
    cause,
  })
}
