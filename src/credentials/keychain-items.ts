import { randomUUID } from 'node:crypto'

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

/** The items of one service in a keychain, by account. */
export interface KeychainItems {
  get(account: string): Promise<string | null>
  set(account: string, value: string): Promise<void>
  /** @returns whether there was one */
  delete(account: string): Promise<boolean>
}

/** Stands in the item of the account where the value itself was too long for it. */
const head = /^chatctl-parts:(\d{1,4}):([0-9a-f-]{36})$/

/**
 * Reads a value that may lie in parts.
 *
 * @throws Error where a part is missing
 */
export async function getLongValue(items: KeychainItems, account: string): Promise<string | null> {
  let value = await items.get(account)
  for (;;) {
    const parts = value === null ? undefined : partsOf(account, value)
    if (!parts) return value
    const texts = await Promise.all(parts.map((part) => items.get(part)))
    if (!texts.includes(null)) return texts.join('')
    // Another process may have replaced it meanwhile, and deleted the parts of the old one.
    const now = await items.get(account)
    if (now === value) throw new Error('a part of the credential is missing')
    value = now
  }
}

/**
 * Writes a value, in parts where it is longer than an item may be. The account's own item is written
 * last and as a whole: until then the old value is what is read, and from then on the new one.
 *
 * @param limit UTF-16 code units of one item
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

/** @returns whether there was one */
export async function deleteLongValue(items: KeychainItems, account: string): Promise<boolean> {
  const value = await headingOf(items, account)
  const deleted = await items.delete(account)
  for (const part of partsOf(account, value) ?? []) await items.delete(part)
  return deleted
}

/** What cannot be read names no parts, and can be replaced or deleted all the same. */
async function headingOf(items: KeychainItems, account: string): Promise<string> {
  return (await items.get(account).catch(() => null)) ?? ''
}

function split(value: string, limit: number): string[] {
  const count = Math.max(1, Math.ceil(value.length / limit))
  return Array.from({ length: count }, (_, index) => value.slice(index * limit, (index + 1) * limit))
}

/** The accounts of the parts that a heading names. */
function partsOf(account: string, heading: string): string[] | undefined {
  const match = head.exec(heading)
  if (!match) return undefined
  return Array.from({ length: Number(match[1]) }, (_, index) => `${account}#${match[2]}#${index + 1}`)
}
