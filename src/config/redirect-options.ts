/** The hosts to which the browser may be redirected after sign-in. */
export type RedirectHost = '127.0.0.1' | '::1'

export function readRedirectHost(text: string): RedirectHost {
  const host = text.replace(/^\[(.*)\]$/, '$1')
  if (host === '127.0.0.1' || host === '::1') return host
  // RFC 8252 section 8.3: a host name may resolve to another machine.
  throw new Error('is not a loopback address: use 127.0.0.1 or ::1')
}

/** @returns the ports, in the order in which they are tried */
export function readPorts(text: string): readonly number[] {
  const ports = text.split(',').map((port) => (/^\s*\d{1,5}\s*$/.test(port) ? Number(port) : Number.NaN))
  if (ports.every((port) => port <= 65_535)) return ports
  throw new Error('is not a port from 0 to 65535, or a comma-separated list of ports')
}

export function readRedirectPath(text: string): string {
  // Authorization servers compare the path as a string, so URL normalization must not change it.
  if (/^\/[\w.~/-]*$/.test(text) && new URL(text, 'http://localhost').pathname === text) return text
  throw new Error('is not a path such as /callback')
}
