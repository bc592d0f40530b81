import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { type Behavior, json, type RecordedRequest, startFaultServer } from './fault-server.ts'

interface SigningKey {
  id: string
  privateKey: CryptoKey
  publicKey: object
}

/** An issuer of identity tokens on loopback, like that of a CI system. */
export interface IdentityIssuer {
  /** The issuer: the `iss` of its tokens. */
  url: string
  requests: RecordedRequest[]
  /** The keys that it publishes. A test may change them. */
  published: object[]
  /** Responds to the paths that are given, instead of the documents. */
  faults: Record<string, Behavior>
  /** Publishes a new key instead of the others, and signs with it. */
  rotate(): Promise<void>
  /** Signs claims. By default, the token is valid for 5 minutes. */
  sign(claims: JWTPayload): Promise<string>
  close(): Promise<void>
}

const metadataPath = '/.well-known/openid-configuration'
const keysPath = '/jwks'

/** @param now the time of the tokens, in ms */
export async function startIdentityIssuer(now = () => Date.now()): Promise<IdentityIssuer> {
  let signing = await createKey('key-1')
  let rotations = 1
  const server = await startFaultServer({
    choose: ({ path }) => {
      const fault = issuer.faults[path]
      if (fault) return fault
      if (path === metadataPath) return json(200, { issuer: issuer.url, jwks_uri: issuer.url + keysPath })
      return path === keysPath ? json(200, { keys: issuer.published }) : json(404, {})
    },
  })
  const issuer: IdentityIssuer = {
    url: server.url,
    requests: server.requests,
    published: [signing.publicKey],
    faults: {},
    async rotate() {
      rotations += 1
      signing = await createKey(`key-${rotations}`)
      issuer.published = [signing.publicKey]
    },
    sign(claims) {
      const seconds = Math.floor(now() / 1000)
      return new SignJWT({ iss: server.url, iat: seconds, exp: seconds + 300, ...claims })
        .setProtectedHeader({ alg: 'ES256', kid: signing.id, typ: 'JWT' })
        .sign(signing.privateKey)
    },
    close: () => server.close(),
  }
  return issuer
}

async function createKey(id: string): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair('ES256')
  return { id, privateKey, publicKey: { ...(await exportJWK(publicKey)), kid: id, alg: 'ES256', use: 'sig' } }
}

/** A JWT that no one has signed, for servers that do not verify it. */
export function identityToken(claims: Record<string, unknown> = {}): string {
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${encode({ alg: 'RS256' })}.${encode({ ...identityClaims, ...claims })}.c2ln`
}

const identityClaims = {
  iss: 'https://ci.example',
  sub: 'repo:acme/app:ref:refs/heads/main',
  aud: 'https://chat.example',
  exp: Date.parse('2030-01-01T00:00:00Z') / 1_000,
}
