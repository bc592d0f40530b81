import { Failure } from '../../contract/failure.ts'
import type { KeychainItem } from './keychain-items.ts'

interface KeychainFault {
  code?: string
  /** May contain `WORDS`, the message of the cause. */
  message: string
  /** May contain `ITEM`, the arguments of secret-tool. */
  hint?: string
}

/** Without a `code`, that of the failure is the name. All have exit code 4. */
const faults = {
  /** Of `boot/native-addon.ts`. */
  keychain_cache_unusable: {
    code: 'keychain_not_loaded',
    message: 'The keychain cannot be loaded: WORDS',
    hint: `Set ${process.platform === 'win32' ? 'LOCALAPPDATA' : 'XDG_CACHE_HOME'} to a directory that only you can write to, on a file system that is not mounted with noexec. CHATCTL_API_KEY needs no keychain.`,
  },
  keychain_program_moved: {
    code: 'keychain_not_loaded',
    message: 'The keychain cannot be loaded, because the program was moved or removed while it runs: WORDS',
    hint: 'Start it again from its new location.',
  },
  keychain_not_loaded: {
    message:
      'The keychain cannot be loaded: the native code of the package @napi-rs/keyring is not installed, or does not run on this system',
    hint: 'If chatctl was installed with npm, install it again with: npm install --global --include=optional chatctl. Otherwise, set CHATCTL_API_KEY to an API key, or sign in with --insecure-storage, which stores the credential in a file.',
  },
  keychain_ambiguous: {
    message: 'The keychain has more than one item for this profile',
    hint: 'Delete them in the password manager of your desktop, and sign in again. On Linux: secret-tool clear ITEM',
  },
  keychain_without_collection: {
    message:
      'The Secret Service runs, but has no default collection (keyring) in which to store a credential',
    hint: 'Set CHATCTL_API_KEY to an API key, or sign in with --insecure-storage, which stores the credential in a file. On a desktop, create a default keyring in the password manager of the desktop.',
  },
  keychain_locked: {
    message: 'The keychain is locked',
    hint: 'Unlock it and try again, or set CHATCTL_API_KEY, which needs no keychain.',
  },
  keychain_unavailable: {
    message:
      process.platform === 'linux'
        ? 'No keychain is available: no Secret Service is running, such as gnome-keyring'
        : 'No keychain is available',
    hint: 'Set CHATCTL_API_KEY to an API key, or sign in with --insecure-storage, which stores the credential in a file.',
  },
  keychain_timeout: {
    message: 'The keychain does not respond',
    hint: 'Restart it, or set CHATCTL_API_KEY, which needs no keychain.',
  },
  keychain_failed: {
    message: 'The keychain failed: WORDS',
    hint: 'Set CHATCTL_API_KEY, which needs no keychain.',
  },
} satisfies Record<string, KeychainFault>

export type KeychainCode = keyof typeof faults

/** The error messages of the operating systems and of `@napi-rs/keyring`, which have no codes. The first match applies. */
const messages: readonly [RegExp, KeychainCode][] = [
  [
    /native binding|cannot find module|cannot open shared object|version .* not found/i,
    'keychain_not_loaded',
  ],
  [/matched by \d+ credentials/, 'keychain_ambiguous'],
  // The next pattern also matches this message.
  [/no result found/i, 'keychain_without_collection'],
  [
    /islocked|\blocked\b|prompt was dismissed|access platform storage|interaction is not allowed|user cancell?ed/i,
    'keychain_locked',
  ],
  [
    /failed to connect|no secret service provider|serviceunknown|not provided by any|name has no owner|namehasnoowner|dbus_session_bus_address|autolaunch|no such file|connection refused|failed to execute program|spawn\./i,
    'keychain_unavailable',
  ],
  [/did not receive a reply|timed? ?out/i, 'keychain_timeout'],
]

const wholeKeychain = /^keychain_(locked|not_loaded|unavailable|timeout|without_collection)$/

/** Whether a failure is of the whole keychain, rather than of one item. */
export function isOfWholeKeychain({ code }: Failure): boolean {
  return wholeKeychain.test(code)
}

/** @param item for the secret-tool command in the hint */
export function keychainFailure(code: KeychainCode, item: KeychainItem, cause?: Error): Failure {
  const fault: KeychainFault = faults[code]
  const [words = ''] = (cause?.message ?? '').split('\n')
  return new Failure(
    'unauthorized',
    fault.message.replace('WORDS', () => words),
    {
      code: fault.code ?? code,
      hint: fault.hint?.replace('ITEM', `service ${item.service} username ${item.account}`),
      cause,
    },
  )
}

/** Describes an error of a keychain call, by its code or else by its message. */
export function failureOfCall(cause: unknown, item: KeychainItem): Failure {
  const error = cause instanceof Error ? cause : new Error(String(cause))
  const { code, syscall } = error as NodeJS.ErrnoException
  if (code !== undefined && Object.hasOwn(faults, code))
    return keychainFailure(code as KeychainCode, item, error)
  if (code === 'ENOENT' && syscall?.startsWith('spawn'))
    return keychainFailure('keychain_program_moved', item, error)
  const [, known = 'keychain_failed'] = messages.find(([words]) => words.test(error.message)) ?? []
  return keychainFailure(known, item, error)
}
