import { Failure } from '../contract/failure.ts'

/**
 * The URL of a path below a base URL, which it can never leave.
 * @throws Failure `refused` for a path that would
 */
export function resolvePath(base: URL, path: string, query: Record<string, string> = {}): URL {
  checkPath(path)
  const prefix = base.pathname.replace(/\/+$/, '')
  const url = new URL(base.origin + prefix + path)
  // URL also resolves `..` and `%2e%2e`, hence the second look.
  if (url.origin !== base.origin || !`${url.pathname}/`.startsWith(`${prefix}/`)) {
    throw refused('the path leaves the base URL')
  }
  for (const [name, value] of Object.entries(query)) url.searchParams.append(name, value)
  return url
}

/**
 * Refuses what is not an absolute path below the base URL, before anything is looked up.
 * @throws Failure `refused`
 */
export function checkPath(path: string): void {
  if (!path.startsWith('/'))
    throw refused('the path must begin with /', 'Write /v1/…, relative to the base URL.')
  if (path.startsWith('//')) throw refused('the path must not begin with //')
  if (path.includes('\\')) throw refused('the path must not contain a backslash')
  if (path.includes('#')) throw refused('the path must not contain #')
  if (hasControl(path) || !path.isWellFormed()) throw refused('the path contains control characters')
}

/**
 * Puts an identifier into a path: `{id}` of `/v1/users/{id}`, percent-escaped (RFC 3986 section 2.1).
 * @throws Failure `refused` for one that would name another resource or none
 */
export function expandPath(template: string, params: Record<string, string> = {}): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => escapeSegment(name, params[name] ?? ''))
}

function escapeSegment(name: string, value: string): string {
  if (value === '') throw refused(`the ${name} must not be empty`)
  if (value === '.' || value === '..') throw refused(`the ${name} must not be "${value}"`)
  if (hasControl(value) || !value.isWellFormed()) throw refused(`the ${name} contains control characters`)
  return encodeURIComponent(value)
}

/** C0 controls, DEL and C1 controls. */
function hasControl(text: string): boolean {
  return /\p{Cc}/u.test(text)
}

function refused(message: string, hint?: string): Failure {
  return new Failure('refused', message, hint === undefined ? {} : { hint })
}
