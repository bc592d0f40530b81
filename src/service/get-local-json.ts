import type { IncomingHttpHeaders } from 'node:http'

interface LocalResponse {
  headers: IncomingHttpHeaders
  body: unknown
}

/** In characters. */
const maxBody = 1024 * 1024

/**
 * Sends a GET request to a program on this machine, without a proxy and without redirects.
 *
 * @param timeout in ms, for the whole response
 * @returns undefined unless it is 200 with JSON
 */
export function getLocalJson(
  url: URL,
  timeout: number,
  headers: Record<string, string> = {},
): Promise<LocalResponse | undefined> {
  const { get } = process.getBuiltinModule('node:http')
  return new Promise((resolve) => {
    const settle = (response?: LocalResponse) => {
      clearTimeout(timer)
      resolve(response)
      request.destroy()
    }
    const request = get(url, { agent: false, headers })
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
      response.on('end', () => settle(parse(text, response.headers)))
    })
  })
}

function parse(text: string, headers: IncomingHttpHeaders): LocalResponse | undefined {
  try {
    return { headers, body: JSON.parse(text) }
  } catch {
    return undefined
  }
}
