import type { Client } from '../../client/client.ts'

/** Whom a credential belongs to, as far as the service says so. */
export interface Owner {
  id: string | null
  email: string | null
  name: string | null
}

/** Asks the service, with the credential that the client sends. */
export async function whoIs(client: Client): Promise<Owner> {
  const { body } = await client.users.profile()
  return { id: body?.id ?? null, email: body?.email ?? null, name: body?.name ?? null }
}
