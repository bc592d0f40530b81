import { refused } from '../../contract/base-url.ts'
import { withoutTrailing } from '../../contract/notation/text.ts'

/** The URL of a path below a base URL. @throws Failure `refused` for a path that leads outside the base URL */
export function resolvePath(base: URL, path: string, query: Record<string, string> = {}): URL {
  checkPath(path)
  const prefix = withoutTrailing(base.pathname, '/')
  const added = new URLSearchParams(query).toString()
  const mark = path.indexOf('?')
  const separator = added === '' || mark === path.length - 1 ? '' : mark < 0 ? '?' : '&'
  const url = new URL(base.origin + prefix + path + separator + added)
  // URL also resolves `..` and `%2e%2e`, so the result is checked, too.
  if (url.origin !== base.origin || !`${url.pathname}/`.startsWith(`${prefix}/`)) {
    throw refused('The path leads outside the base URL')
  }
  return url
}

/** @throws Failure `refused` unless the path is absolute and valid */
export function checkPath(path: string): void {
  if (!path.startsWith('/'))
    throw refused('The path must begin with /', 'Give a path below the base URL, such as /v1/settings.')
  if (path.startsWith('//')) throw refused('The path must not begin with //')
  if (path.includes('\\')) throw refused('The path must not contain a backslash')
  if (path.includes('#')) throw refused('The path must not contain #')
  if (hasControl(path) || !path.isWellFormed()) throw refused('The path contains control characters')
}

/**
 * Inserts percent-encoded identifiers into a path, such as `{id}` of `/v1/users/{id}` (RFC 3986 section 2.1).
 * @throws Failure `refused` for an identifier that would name another resource, or none
 */
export function expandPath(template: string, params: Record<string, string> = {}): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => escapeSegment(name, params[name] ?? ''))
}

function escapeSegment(name: string, value: string): string {
  if (value === '') throw refused(`The ${name} must not be empty`)
  if (value === '.' || value === '..') throw refused(`The ${name} must not be "${value}"`)
  if (hasControl(value) || !value.isWellFormed()) throw refused(`The ${name} contains control characters`)
  return encodeURIComponent(value)
}

/** Whether a text contains C0 controls, DEL, or C1 controls. Faster than `\p{Cc}`. */
function hasControl(text: string): boolean {
  return !/^[\x20-\x7e\xa0-\uffff]*$/.test(text)
}
