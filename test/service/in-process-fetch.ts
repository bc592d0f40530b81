import type { EmbeddedService } from '../../src/service/open-embedded-service.ts'
import { unlessAborted } from '../../src/system/unless-aborted.ts'

/** The services in this process by URL. */
const services = new Map<string, EmbeddedService>()

/** Gives a service in this process a URL, until it is closed. */
export function serveInProcess(service: EmbeddedService): { url: string; close(): Promise<void> } {
  const url = `http://service-${services.size + 1}.localhost`
  services.set(url, service)
  return { url, close: () => service.close() }
}

/** Sends a request like `fetch`. Undefined if the URL is not of a service in this process. */
export function sendInProcess(url: string, path: string, init: RequestInit): Promise<Response> | undefined {
  const service = services.get(url)
  return service && respond(service, new URL(url + path), init)
}

async function respond(service: EmbeddedService, url: URL, init: RequestInit): Promise<Response> {
  const { method = 'GET', body } = init
  const signal = init.signal ?? new AbortController().signal
  const headers = Object.fromEntries(new Headers(init.headers))
  const response = await unlessAborted(
    service.request({ method, url, headers, ...(body ? { body: body as string } : {}) }, signal),
    signal,
  )
  const { status, statusText, read, cancel } = response
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const chunk = await unlessAborted(read(), signal)
      if (chunk) controller.enqueue(chunk)
      else controller.close()
    },
    cancel,
  })
  const hasBody = method !== 'HEAD' && status !== 204
  return new Response(hasBody ? stream : null, { status, statusText, headers: response.headers })
}
