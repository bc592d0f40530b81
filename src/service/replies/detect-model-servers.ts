import type { LocalModelServer } from '../../contract/model-server-address.ts'
import { fetchText } from '../../system/network/fetch-text.ts'

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
  try {
    const { status, text } = await fetchText(new URL(`${url}/models`), { timeout, maxSize: 1024 })
    const { data } = JSON.parse(text)
    if (status !== 200 || !Array.isArray(data)) return 0
    return data.filter((model) => typeof Object(model).id === 'string').length
  } catch {
    return 0
  }
}
