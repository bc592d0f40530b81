import { deleteLongValue, getLongValue, type KeychainItems, setLongValue } from './long-value.ts'

/** UTF-16 code units: Windows' Credential Manager holds 2,560 bytes. Elsewhere nothing is that short. */
const longestItem = process.platform === 'win32' ? 1_280 : Number.POSITIVE_INFINITY

/** An item of a keychain, by its attributes. */
export interface KeychainItem {
  service: string
  account: string
}

/** What is done with the keychain of this machine. */
export interface KeychainRequest extends KeychainItem {
  operation: 'get' | 'set' | 'delete'
  /** For `set`. */
  value?: string
}

/** What came of it: the value or null of `get`, whether there was one of `delete`. */
export type KeychainAnswer = string | boolean | null

/**
 * Opens the keychain and does it. On Linux this may block the whole thread for as long as the
 * keychain, or the person in front of its dialog, likes (docs/decisions/0006-keychain-calls.md).
 */
export async function callKeychain(request: KeychainRequest): Promise<KeychainAnswer> {
  const items = await openItems(request.service)
  switch (request.operation) {
    case 'get':
      return getLongValue(items, request.account)
    case 'set':
      await setLongValue(items, request.account, request.value ?? '', longestItem)
      return true
    case 'delete':
      return deleteLongValue(items, request.account)
  }
}

async function openItems(service: string): Promise<KeychainItems> {
  const { AsyncEntry } = await import('@napi-rs/keyring')
  // Where nothing is pinned a Linux without a Secret Service gets the kernel's keyring, which expires.
  const open = (account: string) => new AsyncEntry(service, account, { linux: { store: 'secret-service' } })
  return {
    get: async (account) => (await open(account).getPassword()) ?? null,
    set: (account, value) => open(account).setPassword(value),
    delete: (account) => open(account).deleteCredential(),
  }
}
