import { unlessAborted } from '../../system/unless-aborted.ts'
import {
  Expired,
  type HttpRequest,
  Interrupted,
  type OpenResponse,
  type Stage,
  type Transport,
} from '../response/open-response.ts'

/** Responds to requests in this process. Ends its work when the signal is aborted. */
export type RequestHandler = (httpRequest: HttpRequest, signal: AbortSignal) => Promise<OpenResponse>

/** Passes requests to a handler, which is always reached. */
export const processTransport =
  (handle: RequestHandler): Transport =>
  async (httpRequest, signal, onSent) => {
    signal.throwIfAborted()
    onSent()
    const response = await withStage('request', handle(httpRequest, signal), signal)
    return { ...response, read: () => withStage('body', response.read(), signal) }
  }

async function withStage<T>(stage: Stage, work: Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await unlessAborted(work, signal)
  } catch (error) {
    if (signal.aborted && !(signal.reason instanceof Expired)) throw signal.reason
    throw new Interrupted(stage, signal.aborted ? signal.reason : error)
  }
}
