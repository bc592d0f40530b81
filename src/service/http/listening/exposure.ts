import type { Listener } from '../../../contract/advice.ts'
import { isLoopback, readBaseUrl } from '../../../contract/base-url.ts'
import { Failure } from '../../../contract/failure.ts'
import { maxPemBytes, readNamedFile } from '../../../system/files/read-named-file.ts'

/** How other machines reach the service. */
export interface ExposureOptions {
  /** PEM files. With them, the service uses HTTPS only. */
  tls?: { certFile: string; keyFile: string } | undefined
  /** The service is behind one reverse proxy, and trusts its `X-Forwarded-For`, `-Proto`, and `-Host`. */
  behindProxy?: boolean | undefined
  /** The origin that clients use, if it is not the address that the service listens on. */
  publicUrl?: string | undefined
}

export interface Exposure {
  /** PEM. The key belongs to the certificate. */
  tls: { cert: Buffer; key: Buffer } | undefined
  behindProxy: boolean
  /** Without a trailing slash. */
  publicUrl: string | undefined
  /** Whether clients may be on other machines, so that the log contains their addresses. */
  logsAddresses: boolean
}

/**
 * @throws Failure `usage` if keys would cross a network unencrypted, `config` for certificates
 * that cannot be used, `refused` for a public URL with a path
 */
export function readExposure(host: string, options: ExposureOptions): Exposure {
  const { tls, behindProxy = false, publicUrl } = options
  if (!isLoopback(host) && !tls && !behindProxy) {
    throw new Failure(
      'usage',
      `Listening on ${host} without TLS would send API keys over the network unencrypted`,
      { advice: [{ code: 'encrypt' }] },
    )
  }
  return {
    tls: tls && readCertificate(tls),
    behindProxy,
    publicUrl: publicUrl === undefined ? undefined : readPublicUrl(publicUrl),
    logsAddresses: behindProxy || !isLoopback(host),
  }
}

/** @throws Failure `config` */
export function readCertificate({ certFile, keyFile }: NonNullable<ExposureOptions['tls']>) {
  const pem = { maxBytes: maxPemBytes, kind: 'config' } as const
  const cert = readNamedFile(certFile, { ...pem, name: `The certificate file ${certFile}` })
  const key = readNamedFile(keyFile, { ...pem, name: `The private key file ${keyFile}`, isSecret: true })
  try {
    process.getBuiltinModule('node:tls').createSecureContext({ cert, key })
  } catch (cause) {
    throw new Failure(
      'config',
      `${certFile} and ${keyFile} are not a PEM certificate and its private key: ${(cause as Error).message}`,
      { hint: `Remove a passphrase with: openssl pkey -in ${keyFile} -out open-key.pem`, cause },
    )
  }
  return { cert, key }
}

function readPublicUrl(text: string): string {
  const url = readBaseUrl(text, 'public URL')
  if (url.pathname === '/') return url.origin
  throw new Failure('refused', `The public URL must be an origin, such as ${url.origin}, without a path`, {
    hint: 'Use a separate host name for the service: its paths begin at the root',
  })
}

/**
 * The origin under which people sign in. Undefined if it is unknown: without a public URL behind a proxy,
 * or on all addresses of the machine. With a wrong one, the service would refuse browsers, and set
 * cookies without `Secure`.
 * @param listening the origin that the service listens on
 */
export function issuerOf(exposure: Exposure | undefined, listening: string): string | undefined {
  if (exposure?.publicUrl !== undefined) return exposure.publicUrl
  const { hostname } = new URL(listening)
  return exposure?.behindProxy || hostname === '0.0.0.0' || hostname === '[::]' ? undefined : listening
}

/** The message if `issuerOf` returns undefined. */
export const signInIsOff = 'Browser sign-in is off: the service was started without a public URL'

/** The Failure for an error of `listen`. Any other error is returned as it is. */
export function listenFailure(cause: unknown, host: string, port: number, listener: Listener): unknown {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  switch (code) {
    case 'EADDRINUSE':
      return new Failure('conflict', `Port ${port} on ${host} is already in use`, {
        advice: [{ code: 'other_port', listener }],
        cause,
      })
    case 'EACCES':
      return new Failure('refused', `This user is not allowed to listen on port ${port}`, {
        advice: [{ code: 'unprivileged_port', listener }],
        cause,
      })
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new Failure('config', `This machine has no address ${host}`, { cause })
    default:
      return cause
  }
}
