/** Codes of Node and undici for a connection that failed, in words. */
export const networkErrors: Record<string, string> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EPIPE: 'connection closed',
  ENOTFOUND: 'host not found',
  EAI_AGAIN: 'DNS lookup failed',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the network',
  EADDRNOTAVAIL: 'no local address available',
  UND_ERR_SOCKET: 'connection closed',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'fewer bytes than its Content-Length',
  UND_ERR_HEADERS_OVERFLOW: 'response headers are too long',
}
