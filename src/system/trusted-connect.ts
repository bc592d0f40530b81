import type { LookupFunction } from 'node:net'

/** RFC 6761 section 6.3: `localhost` is this machine, and may get a credential unencrypted, whatever the system resolves. */
const lookup: LookupFunction = (host, options, callback) => {
  const [first, second] = [
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ] as const
  if (host !== 'localhost') process.getBuiltinModule('node:dns').lookup(host, options, callback)
  else if (options.all) callback(null, [first, second])
  else callback(null, first.address, first.family)
}

/** How connections that carry credentials are opened. NODE_TLS_REJECT_UNAUTHORIZED has no effect on them. */
export const trustedConnect = { rejectUnauthorized: true, lookup }
