import { randomUUID } from 'node:crypto'

/** UTF-16 code units per item: Windows' Credential Manager allows 2,560 bytes. Other systems allow more. */
const longestItem = process.platform === 'win32' ? 1_280 : Number.POSITIVE_INFINITY

/** An item of a keychain, by its attributes. */
export interface KeychainItem {
  service: string
  account: string
}

export interface KeychainRequest extends KeychainItem {
  operation: 'get' | 'set' | 'delete'
  /** For `set`. */
  value?: string
}

/** The value or null for `get`, whether an item existed for `delete`. */
export type KeychainResult = string | boolean | null

/**
 * Opens the keychain and makes the call. On Linux, this may block the thread until the user closes the
 * dialog of the keychain (docs/decisions/0006-keychain-calls.md).
 */
export async function callKeychain(request: KeychainRequest): Promise<KeychainResult> {
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
  // Without this option, a Linux without a Secret Service would use the kernel keyring, which expires.
  const open = (account: string) => new AsyncEntry(service, account, { linux: { store: 'secret-service' } })
  return {
    get: async (account) => (await open(account).getPassword()) ?? null,
    set: (account, value) => open(account).setPassword(value),
    delete: (account) => open(account).deleteCredential(),
  }
}

/** The items of one service in a keychain, by account. */
export interface KeychainItems {
  get(account: string): Promise<string | null>
  set(account: string, value: string): Promise<void>
  /** @returns whether an item existed */
  delete(account: string): Promise<boolean>
}

/** The content of the account's item if the value is too long for one item. */
const head = /^chatctl-parts:(\d{1,4}):([0-9a-f-]{36})$/

/** Reads a value that may be split into parts. @throws Error if a part is missing */
export async function getLongValue(items: KeychainItems, account: string): Promise<string | null> {
  let value = await items.get(account)
  for (;;) {
    const parts = value === null ? undefined : partsOf(account, value)
    if (!parts) return value
    const texts = await Promise.all(parts.map((part) => items.get(part)))
    if (!texts.includes(null)) return texts.join('')
    // Another process may have replaced the value, and deleted the old parts.
    const now = await items.get(account)
    if (now === value) throw new Error('a part of the credential is missing')
    value = now
  }
}

/**
 * Writes a value, split into parts if it is too long for one item. The account's item is written last, so
 * readers see the old value until then and the new value from then on.
 * @param limit maximum length of an item, in UTF-16 code units
 */
export async function setLongValue(
  items: KeychainItems,
  account: string,
  value: string,
  limit: number,
): Promise<void> {
  const before = await headingOf(items, account)
  const texts = split(value, limit)
  const heading = texts.length === 1 ? value : `chatctl-parts:${texts.length}:${randomUUID()}`
  for (const [index, part] of (partsOf(account, heading) ?? []).entries()) {
    await items.set(part, texts[index] ?? '')
  }
  await items.set(account, heading)
  for (const part of partsOf(account, before) ?? []) await items.delete(part)
}

/** @returns whether an item existed */
export async function deleteLongValue(items: KeychainItems, account: string): Promise<boolean> {
  const value = await headingOf(items, account)
  const deleted = await items.delete(account)
  for (const part of partsOf(account, value) ?? []) await items.delete(part)
  return deleted
}

/** An item that cannot be read has no known parts, but can still be replaced or deleted. */
async function headingOf(items: KeychainItems, account: string): Promise<string> {
  return (await items.get(account).catch(() => null)) ?? ''
}

function split(value: string, limit: number): string[] {
  const count = Math.max(1, Math.ceil(value.length / limit))
  return Array.from({ length: count }, (_, index) => value.slice(index * limit, (index + 1) * limit))
}

function partsOf(account: string, heading: string): string[] | undefined {
  const match = head.exec(heading)
  if (!match) return undefined
  return Array.from({ length: Number(match[1]) }, (_, index) => `${account}#${match[2]}#${index + 1}`)
}
