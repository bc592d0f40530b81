import type { Adapter, AdapterPayload } from 'oidc-provider'

/** The storage of one authorization server, by model and ID. */
export interface MemoryStore {
  /** For the configuration of oidc-provider. */
  adapter(model: string): Adapter
  /** Deletes all entries of one model, such as `AccessToken`. */
  forget(model: string): void
}

/** The default storage of oidc-provider is shared in the process, and prints a warning at each start. */
export function createMemoryStore(): MemoryStore {
  const models = new Map<string, Map<string, AdapterPayload>>()
  const open = (model: string): Map<string, AdapterPayload> => {
    const items = models.get(model) ?? new Map()
    models.set(model, items)
    return items
  }
  return {
    adapter: (model) => createAdapter(open(model), models),
    forget: (model) => open(model).clear(),
  }
}

function createAdapter(
  items: Map<string, AdapterPayload>,
  models: ReadonlyMap<string, Map<string, AdapterPayload>>,
): Adapter {
  const findBy = async (key: 'uid' | 'userCode', value: string): Promise<AdapterPayload | undefined> =>
    [...items.values()].find((payload) => payload[key] === value)
  return {
    upsert: async (id, payload) => void items.set(id, payload),
    // oidc-provider checks `exp` itself.
    find: async (id) => items.get(id),
    findByUid: (uid) => findBy('uid', uid),
    findByUserCode: (userCode) => findBy('userCode', userCode),
    consume: async (id) => {
      const payload = items.get(id)
      if (payload) payload['consumed'] = Math.floor(Date.now() / 1000)
    },
    destroy: async (id) => void items.delete(id),
    revokeByGrantId: async (grantId) => {
      for (const all of models.values()) {
        for (const [id, payload] of all) if (payload.grantId === grantId) all.delete(id)
      }
    },
  }
}
