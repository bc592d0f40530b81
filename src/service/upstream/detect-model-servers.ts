import type { LocalModelServer } from '../../contract/upstream-address.ts'
import { getLocalJson } from '../get-local-json.ts'

export interface DetectedModelServer extends LocalModelServer {
  /** The number of its models, at least 1. */
  models: number
}

/** In ms. A model server on this machine lists its models in less. */
const timeout = 200

/** Which of these servers run on this machine and have models, in the same order. Sends only `GET /v1/models`. */
export async function detectModelServers(
  servers: readonly LocalModelServer[],
): Promise<DetectedModelServer[]> {
  const counts = await Promise.all(servers.map(async ({ url }) => probe(url)))
  return servers.flatMap((server, index) => {
    const models = counts[index] ?? 0
    return models > 0 ? [{ ...server, models }] : []
  })
}

async function probe(url: string): Promise<number> {
  const response = await getLocalJson(new URL(`${url}/models`), timeout)
  const data: unknown = Object(response?.body).data
  if (!Array.isArray(data)) return 0
  return data.filter((model) => typeof Object(model).id === 'string').length
}
