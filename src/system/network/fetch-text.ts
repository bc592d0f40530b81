import type { ConnectOptions } from './connector.ts'
import { describeFault, readFault } from './network-fault.ts'
import { Interrupted, type OpenResponse, openTransport } from './transport.ts'

export interface FetchOptions extends Omit<ConnectOptions, 'connectTimeout'> {
  headers?: Record<string, string>
  /** For the whole response, in ms. */
  timeout: number
  /** In KiB. */
  maxSize: number
}

/** The response to a GET request, without redirects. @throws an error that names the URL; Failure as `openPool` */
export async function fetchText(
  url: URL,
  { timeout, maxSize, headers = {}, ...options }: FetchOptions,
): Promise<{ status: number; text: string }> {
  const { transport, close } = await openTransport(url, { ...options, connectTimeout: timeout })
  const signal = AbortSignal.timeout(timeout)
  try {
    const response = await transport({ method: 'GET', url, headers }, signal, () => {})
    const { bytes, cut, interruption } = await readStart(response, maxSize * 1024)
    if (interruption) throw interruption
    if (cut) throw new Error(`${url} responds with more than ${maxSize} KiB`)
    return { status: response.status, text: bytes.toString() }
  } catch (error) {
    if (signal.aborted)
      throw new Error(`${url} does not respond within ${timeout / 1000} s`, { cause: error })
    if (!(error instanceof Interrupted)) throw error
    const { cause, stage } = error
    throw new Error(describeFault(readFault(cause), stage, String(url), true), { cause })
  } finally {
    void close()
  }
}

/** The first bytes of a body, at most `max`. `cut`: the body is longer, or was interrupted. */
export async function readStart(
  response: Pick<OpenResponse, 'read' | 'cancel'>,
  max: number,
): Promise<{ bytes: Buffer; cut: boolean; interruption: Interrupted | undefined }> {
  const chunks: Uint8Array[] = []
  let length = 0
  let interruption: Interrupted | undefined
  try {
    for (let chunk = await response.read(); chunk; chunk = await response.read()) {
      chunks.push(chunk)
      length += chunk.length
      if (length > max) break
    }
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error
    interruption = error
  }
  response.cancel()
  const cut = interruption !== undefined || length > max
  return { bytes: Buffer.concat(chunks).subarray(0, max), cut, interruption }
}
