import { isRecord } from '../../contract/notation/exact-json.ts'
import { expandReferences } from '../../contract/notation/expand-references.ts'
import { parseBoolean } from '../../contract/notation/text-value.ts'
import type { FieldPath, ReportFault } from './check-row.ts'

/**
 * A row with `${NAME}` in its strings replaced by environment variables. The only field that is not a string,
 * `settings.notifications_enabled`, can be a reference too.
 */
export function expandStrings(value: unknown, env: NodeJS.ProcessEnv, report: ReportFault): unknown {
  const expand = (value: unknown, path: FieldPath): unknown => {
    if (typeof value === 'string') {
      const text = expandString(value, env, (message) => report(path, message))
      return path.join('.') === 'settings.notifications_enabled' ? (parseBoolean(text) ?? text) : text
    }
    if (Array.isArray(value)) return value.map((item, index) => expand(item, [...path, index]))
    if (!isRecord(value) || Object.getPrototypeOf(value) !== Object.prototype) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [key, expand(inner, [...path, key])]),
    )
  }
  return expand(value, [])
}

/** @param report called with each reference that cannot be expanded */
export function expandString(
  value: string,
  env: NodeJS.ProcessEnv,
  report: (message: string) => void,
): string {
  if (!value.includes('${')) return value
  const { text, faults } = expandReferences(value, env)
  for (const { words } of faults) report(`the value ${words}`)
  return text
}
