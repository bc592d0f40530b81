import { readBaseUrl } from '../contract/base-url.ts'
import { Failure, type FailureKind } from '../contract/failure.ts'
import { readMetadata } from './authorization-server.ts'
import { createTransport, type TransportOptions } from './transport.ts'

/** The client id of programs like this one at a service that signs people in by itself. */
export const standardClientId = 'chatctl'

/** How long, in ms, a service may take to say so. */
const longestQuestion = 10_000

/** No sign-in can come of these, whoever is asked. */
const hopeless: ReadonlySet<FailureKind> = new Set(['unreachable', 'timeout', 'tls'])

/**
 * Whether a service is its own authorization server: whether its metadata (RFC 8414) lie at its
 * base URL, and name it.
 * @throws Failure where the service cannot be reached
 */
export async function servesSignIn(baseUrl: string, options: TransportOptions): Promise<boolean> {
  const timeout = Math.min(options.timeout ?? longestQuestion, longestQuestion)
  const transport = createTransport({ ...options, retries: 0, timeout })
  try {
    const metadata = await readMetadata(readBaseUrl(baseUrl), 'oauth2', transport)
    return metadata?.token_endpoint !== undefined
  } catch (error) {
    if (error instanceof Failure && !hopeless.has(error.kind)) return false
    throw error
  }
}
