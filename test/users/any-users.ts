import fc from 'fast-check'
import { hashOfField, managedFields } from '../../src/contract/managed-fields.ts'
import type { WantedUser } from '../../src/users/managed-fields.ts'
import type { StateEntry } from '../../src/users/state/state-entry.ts'

/** The counts of a plan for no users. */
export const noUsers = {
  ...{ create: 0, change: 0, adopt: 0, unchanged: 0, drifted: 0 },
  ...{ missing: 0, unknown: 0, failed: 0, unread: 0, unmanaged: 0 },
}

const metadataValue = fc.oneof(
  fc.constantFrom('Acme', 'Umbrella', '', null, true, 5),
  fc.constantFrom(1, 1.5, 1e-7),
  fc.constantFrom([1, 2], [2, 1], { a: { b: null } }, { a: {} }),
)

/** Few values, so that two users often have the same ones. */
const fields = {
  name: fc.constantFrom('Ada', 'Bob', ''),
  metadata: fc.dictionary(
    fc.constantFrom('company', 'a.b', 'seats', '__proto__', 'constructor'),
    metadataValue,
  ),
  settings: fc.record(
    { theme: fc.constantFrom('dark', 'light'), notifications_enabled: fc.boolean() },
    { requiredKeys: [] },
  ),
}

const requiredKeys = ['email'] as const

export const anyWantedUser: fc.Arbitrary<WantedUser> = fc.record(
  {
    email: fc.constant('ada@example.com'),
    ...fields,
    role: fc.constantFrom('admin', 'member'),
    permissions: fc.array(fc.constantFrom('read:chat', 'write:chat', 'read:users')),
  },
  { requiredKeys: [...requiredKeys] },
)

/** A user as the service returns it, perhaps without some fields, or with null. */
export const anyServiceUser = fc.record(
  {
    id: fc.constant('usr_1'),
    email: fc.constantFrom('ada@example.com', 'Ada@Example.com'),
    name: fc.option(fields.name),
    metadata: fc.option(fields.metadata),
    settings: fc.option(fields.settings),
  },
  { requiredKeys: [] },
)

/** An entry for a user of whose fields some were sent, with the same or other values. */
export const anyEntry: fc.Arbitrary<StateEntry> = anyWantedUser.map((sent) => ({
  email: sent.email,
  id: 'usr_1',
  hashes: hashesOf(sent),
}))

export function hashesOf(user: WantedUser): Record<string, string> {
  const fields = [...managedFields(user)]
  return Object.fromEntries(fields.map(([path, value]) => [path, hashOfField(path, value)]))
}
