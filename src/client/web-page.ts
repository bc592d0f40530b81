import type { Advice } from '../contract/advice.ts'
import type { FailedRequest } from '../contract/failure.ts'

/** What helps where a page for people came, as from a portal, a sign-in or another address below the host. */
export function webPageAdvice(
  { method, url }: FailedRequest,
  headers: Record<string, string>,
  bytes: Uint8Array,
): Advice[] {
  return isWebPage(headers, bytes) ? [{ code: 'web_page', method, url }] : []
}

function isWebPage(headers: Record<string, string>, bytes: Uint8Array): boolean {
  if (/^(text\/html|application\/xhtml\+xml)\b/i.test(headers['content-type'] ?? '')) return true
  return /^\s*(<!doctype html|<html)\b/i.test(new TextDecoder().decode(bytes.subarray(0, 200)))
}
