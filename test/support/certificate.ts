import { createSign, generateKeyPairSync, randomBytes } from 'node:crypto'
import { isIP } from 'node:net'

/** A certificate and its private key in PEM. */
export interface Certificate {
  cert: string
  key: string
}

/**
 * A self-signed certificate (RFC 5280 section 4.1) that is valid for a day. Each test creates a new
 * one, so that the repository contains no key and nothing expires.
 */
export function makeCertificate(host: string): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const ecdsaWithSha256 = sequence(oid([0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02]))
  const commonName = oid([0x55, 0x04, 0x03])
  const name = sequence(der(0x31, sequence(commonName, der(0x0c, Buffer.from(host)))))
  // GeneralName [7] is an IP address, [2] a DNS name.
  const generalName = isIP(host) ? der(0x87, bytesOf(host)) : der(0x82, Buffer.from(host))
  const alternativeName = extension([0x55, 0x1d, 0x11], sequence(generalName))
  const basicConstraints = extension([0x55, 0x1d, 0x13], sequence(der(0x01, Buffer.from([0xff]))))
  const toBeSigned = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ecdsaWithSha256,
    name,
    sequence(time(Date.now() - 3_600_000), time(Date.now() + 86_400_000)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(alternativeName, basicConstraints)),
  )
  const signature = createSign('sha256').update(toBeSigned).sign(privateKey)
  const certificate = sequence(toBeSigned, ecdsaWithSha256, der(0x03, Buffer.from([0]), signature))
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? []
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

function bytesOf(address: string): Buffer {
  if (!address.includes(':')) return Buffer.from(address.split('.').map(Number))
  const [left = [], right = []] = address.split('::').map((half) => half.split(':').filter(Boolean))
  const groups = [...left, ...Array(8 - left.length - right.length).fill('0'), ...right]
  return Buffer.from(groups.map((group) => group.padStart(4, '0')).join(''), 'hex')
}

/** One element of DER (ITU-T X.690 section 8.1). */
function der(tag: number, ...content: Buffer[]): Buffer {
  const body = Buffer.concat(content)
  const length =
    body.length < 0x80
      ? [body.length]
      : body.length < 0x100
        ? [0x81, body.length]
        : [0x82, body.length >> 8, body.length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...length]), body])
}

function sequence(...content: Buffer[]): Buffer {
  return der(0x30, ...content)
}

function oid(bytes: number[]): Buffer {
  return der(0x06, Buffer.from(bytes))
}

function extension(id: number[], value: Buffer): Buffer {
  return sequence(oid(id), der(0x04, value))
}

function time(ms: number): Buffer {
  const text = new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, '')
  return der(0x17, Buffer.from(text.slice(2)))
}
