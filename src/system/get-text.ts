import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { RequestOptions } from 'node:https'

interface Bounds extends RequestOptions {
  /** For the whole response, in ms. */
  timeout: number
  /** In KiB. */
  maxSize: number
}

/** The response to a GET request, without a proxy and without redirects. @throws an error that names the URL */
export async function getText(
  url: URL,
  { timeout, maxSize, ...options }: Bounds,
): Promise<{ status: number | undefined; text: string }> {
  const signal = AbortSignal.timeout(timeout)
  const tooLong = new Error(`${url} responds with more than ${maxSize} KiB`)
  try {
    const { get } = process.getBuiltinModule(url.protocol === 'https:' ? 'node:https' : 'node:http')
    const request = get(url, { agent: false, signal, ...options })
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    let text = ''
    for await (const chunk of response.setEncoding('utf8')) {
      text += chunk
      if (text.length > maxSize * 1024) throw tooLong
    }
    return { status: response.statusCode, text }
  } catch (cause) {
    if (cause === tooLong) throw cause
    const why = signal.aborted ? `does not respond within ${timeout / 1000} s` : 'cannot be reached'
    throw new Error(`${url} ${why}`, { cause })
  }
}
