import type { LocalModelServer } from '../../contract/upstream-address.ts'

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
  const data: unknown = Object(await getJson(new URL(`${url}/models`))).data
  if (!Array.isArray(data)) return 0
  return data.filter((model) => typeof Object(model).id === 'string').length
}

/** In characters. */
const maxBody = 1024 * 1024

/** The JSON of a response with status 200, without a proxy and without redirects. Undefined for any other response. */
function getJson(url: URL): Promise<unknown> {
  const { get } = process.getBuiltinModule('node:http')
  return new Promise((resolve) => {
    const settle = (body?: unknown) => {
      clearTimeout(timer)
      resolve(body)
      request.destroy()
    }
    const request = get(url, { agent: false })
    const timer = setTimeout(settle, timeout)
    request.on('error', () => settle())
    request.on('response', (response) => {
      let text = ''
      if (response.statusCode !== 200) return settle()
      response.setEncoding('utf8')
      response.on('error', () => settle())
      response.on('data', (chunk: string) => {
        text += chunk
        if (text.length > maxBody) settle()
      })
      response.on('end', () => settle(parse(text)))
    })
  })
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
