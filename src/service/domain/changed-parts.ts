import { isRecord, parseJson } from '../../contract/exact-json.ts'
import type { Plain } from './merge.ts'

/** Names of fields whose content nobody should find in a log, wherever a person may have put it. */
const secretName = /pass(word|phrase|wd|code)?s?$|secret|token$|api[_-]?key|credential/i

/**
 * What differs between two states, key by key at every depth; arrays are compared whole. A key that
 * is on one side alone is in that side's part. Undefined where nothing differs.
 */
export function changedParts(
  before: object | null,
  after: object | null,
): { before: object | null; after: object | null } | undefined {
  if (!before || !after) return { before: before && hideSecrets(before), after: after && hideSecrets(after) }
  const parts = differing(before as Plain, after as Plain)
  return parts && { before: hideSecrets(parts.before), after: hideSecrets(parts.after) }
}

function differing(before: Plain, after: Plain): { before: Plain; after: Plain } | undefined {
  const found = { before: {} as Plain, after: {} as Plain }
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [old, now] = [before[key], after[key]]
    if (isRecord(old) && isRecord(now)) {
      const inner = differing(old, now)
      if (!inner) continue
      set(found.before, key, inner.before)
      set(found.after, key, inner.after)
    } else if (JSON.stringify(old) !== JSON.stringify(now)) {
      if (old !== undefined) set(found.before, key, old)
      if (now !== undefined) set(found.after, key, now)
    }
  }
  return Object.keys(found.before).length + Object.keys(found.after).length > 0 ? found : undefined
}

/** Defined, not assigned: metadata may have a key `__proto__`. */
function set(target: Plain, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true })
}

/** A list or an object under such a name is hidden whole; that there is nothing, or yes or no, may be known. */
function hideSecrets(value: object): object {
  return parseJson(
    JSON.stringify(value, (name, inner) =>
      inner !== null && typeof inner !== 'boolean' && secretName.test(name) ? '(hidden)' : inner,
    ),
  ) as object
}
