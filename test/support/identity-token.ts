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
