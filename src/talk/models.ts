import type { Client } from '../client/client.ts'

/** The models that the service offers. */
export class Models {
  #known: readonly string[] | undefined

  /** @throws Failure of the service */
  async fetch(client: Client, signal: AbortSignal): Promise<readonly string[]> {
    const { body } = await client.chat.models({ signal })
    const models = Array.isArray(body?.data) ? body.data : []
    this.#known = models.flatMap(({ id }) => (typeof id === 'string' ? [id] : []))
    return this.#known
  }

  /** Those that were fetched last; none where the service cannot be asked. */
  async recall(client: Client, signal: AbortSignal): Promise<readonly string[]> {
    return this.#known ?? this.fetch(client, signal).catch(() => [])
  }
}
