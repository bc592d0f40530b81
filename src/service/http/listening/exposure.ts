import { isLoopback, readBaseUrl } from '../../../contract/base-url.ts'
import { Failure } from '../../../contract/failure.ts'
import { maxPemBytes, readNamedFile } from '../../../system/read-named-file.ts'

/** How the service is seen from other machines. */
export interface ExposureOptions {
  /** PEM files; with them the service speaks HTTPS and nothing else. */
  tls?: { certFile: string; keyFile: string } | undefined
  /** One reverse proxy stands in front, and its `X-Forwarded-For`, `-Proto` and `-Host` are believed. */
  behindProxy?: boolean | undefined
  /** The origin that clients see, where it is not the address that the service listens on. */
  publicUrl?: string | undefined
}

export interface Exposure {
  /** PEM, known to fit together. */
  tls: { cert: Buffer; key: Buffer } | undefined
  behindProxy: boolean
  /** Without a slash at its end. */
  publicUrl: string | undefined
  /** Other machines may be at the other end of a connection or of the proxy: who it was is worth a log line. */
  logsAddresses: boolean
}

/**
 * @throws Failure `usage` where keys would cross a network unencrypted, `config` for certificates
 * that cannot be used, `refused` for a public URL that cannot be one
 */
export function readExposure(host: string, options: ExposureOptions): Exposure {
  const { tls, behindProxy = false, publicUrl } = options
  if (!isLoopback(host) && !tls && !behindProxy) {
    throw new Failure(
      'usage',
      `Listening on ${host} without TLS would send API keys over the network unencrypted`,
      {
        advice: [{ code: 'encrypt' }],
      },
    )
  }
  return {
    tls: tls && readCertificate(tls),
    behindProxy,
    publicUrl: publicUrl === undefined ? undefined : readPublicUrl(publicUrl),
    logsAddresses: behindProxy || !isLoopback(host),
  }
}

function readCertificate({ certFile, keyFile }: NonNullable<ExposureOptions['tls']>) {
  const pem = { maxBytes: maxPemBytes, kind: 'config' } as const
  const cert = readNamedFile(certFile, { ...pem, name: `The certificate file ${certFile}` })
  const key = readNamedFile(keyFile, { ...pem, name: `The private key file ${keyFile}`, isSecret: true })
  const { createPrivateKey, X509Certificate } = process.getBuiltinModule('node:crypto')
  const parsed = attempt(
    () => new X509Certificate(cert),
    (cause) => new Failure('config', `${certFile} does not contain a PEM certificate`, { cause }),
  )
  const privateKey = attempt(
    () => createPrivateKey(key),
    (cause) =>
      new Failure('config', `${keyFile} does not contain a readable PEM private key`, {
        ...(key.includes('ENCRYPTED') && {
          hint: `Remove its passphrase with: openssl pkey -in ${keyFile} -out open-key.pem`,
        }),
        cause,
      }),
  )
  if (!parsed.checkPrivateKey(privateKey)) {
    throw new Failure(
      'config',
      `The private key in ${keyFile} does not belong to the certificate in ${certFile}`,
    )
  }
  return { cert, key }
}

function attempt<T>(work: () => T, describe: (cause: unknown) => Failure): T {
  try {
    return work()
  } catch (cause) {
    throw describe(cause)
  }
}

function readPublicUrl(text: string): string {
  const url = readBaseUrl(text, 'public URL')
  if (url.pathname === '/') return url.origin
  throw new Failure('refused', `The public URL must be an origin, such as ${url.origin}, without a path`, {
    hint: 'Use a separate host name for the service: its paths begin at the root',
  })
}

/**
 * The origin under which people sign in, or undefined where nobody has said what clients call this
 * service: behind a proxy, or on all addresses of the machine at once. A wrong one would have
 * browsers refused, and cookies sent without `Secure`.
 * @param listening the origin that it listens on
 */
export function issuerOf(exposure: Exposure | undefined, listening: string): string | undefined {
  if (exposure?.publicUrl !== undefined) return exposure.publicUrl
  const { hostname } = new URL(listening)
  return exposure?.behindProxy || hostname === '0.0.0.0' || hostname === '[::]' ? undefined : listening
}

/** What is said where there is none. */
export const signInIsOff = 'Browser sign-in is off: the service was started without a public URL'
