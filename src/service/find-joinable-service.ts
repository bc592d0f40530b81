import { isLoopback } from '../contract/base-url.ts'
import { getLocalJson } from './get-local-json.ts'
import { challengeHeader, proofHeader, proveRun } from './run-proof.ts'
import { listKeyedRecords } from './run-record.ts'

/** A service that runs on the data of this user, and the key with which commands of the user may use it. */
export interface JoinableService {
  url: string
  key: string
  pid: number
  /** The version of chatctl. Any version can be used: all have the same interface. */
  version: string | null
  /** The base URL of its model server; null for the built-in test program. */
  upstream: string | null
}

/** In ms. A service that takes longer is of no use. */
const timeout = 1_000

/**
 * The service that runs on the SQLite database of a data directory. It has proved that it is the one of the
 * record, so a program that now has its port receives nothing.
 */
export async function findJoinableService(directory: string): Promise<JoinableService | undefined> {
  for (const { url, key, pid, version, upstream } of listKeyedRecords(directory)) {
    const origin = loopbackOrigin(url)
    if (origin !== undefined && (await provesKey(origin, key))) {
      return { url: origin, key, pid, version, upstream }
    }
  }
  return undefined
}

/** Undefined for a service that cannot be reached on loopback without TLS, whose certificate has another name. */
function loopbackOrigin(url: string): string | undefined {
  const { protocol, hostname, port } = new URL(url)
  const host = hostname === '0.0.0.0' ? '127.0.0.1' : hostname === '[::]' ? '[::1]' : hostname
  return protocol === 'http:' && isLoopback(host) ? `http://${host}:${port}` : undefined
}

async function provesKey(origin: string, key: string): Promise<boolean> {
  const { randomBytes, timingSafeEqual } = process.getBuiltinModule('node:crypto')
  const challenge = randomBytes(32).toString('base64url')
  const expected = Buffer.from(proveRun(key, challenge) ?? '')
  const response = await getLocalJson(new URL('/readyz', origin), timeout, { [challengeHeader]: challenge })
  const proof = Buffer.from(String(response?.headers[proofHeader] ?? ''))
  return proof.length === expected.length && timingSafeEqual(proof, expected)
}
