/** RFC 8693. */
export const tokenExchange = 'urn:ietf:params:oauth:grant-type:token-exchange'

/** The grants of identity tokens. The second is RFC 6749 section 4.4 with the client assertion of RFC 7523. */
export const identityGrants: readonly string[] = [tokenExchange, 'client_credentials']
