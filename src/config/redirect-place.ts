/** Readers of where the browser comes back to when somebody signs in; flags, variables and stored values alike. */

export type RedirectHost = '127.0.0.1' | '::1'

export function readRedirectHost(text: string): RedirectHost {
  const host = text.replace(/^\[(.*)\]$/, '$1')
  if (host === '127.0.0.1' || host === '::1') return host
  // RFC 8252 section 8.3: a name can be made to mean another machine.
  throw new Error('is neither 127.0.0.1 nor ::1, the addresses that only this machine can answer on')
}

/** @returns ports in the order in which they are tried */
export function readPorts(text: string): readonly number[] {
  const ports = text.split(',').map((port) => (/^\s*\d{1,5}\s*$/.test(port) ? Number(port) : Number.NaN))
  if (ports.every((port) => port <= 65_535)) return ports
  throw new Error('is not a port from 0 to 65535, or several with commas between')
}

export function readRedirectPath(text: string): string {
  // What is sent and what comes back must be the same characters.
  if (/^\/[\w.~/-]*$/.test(text) && new URL(text, 'http://localhost').pathname === text) return text
  throw new Error('is not a path such as /callback')
}
