import { nest, valueAt } from '../../contract/notation/tree.ts'
import { rowsOf, type View } from './view.ts'

/** Splits `a,b.c`; empty names and spaces around them are dropped. */
export function parseFields(text: string): string[] {
  return text
    .split(',')
    .map((field) => field.trim())
    .filter((field) => field !== '')
}

export function undocumentedFields(view: View, fields: readonly string[]): string[] {
  return fields.filter(
    (field) =>
      !view.columns.some(
        ({ path, open }) =>
          path === field || path.startsWith(`${field}.`) || (open === true && field.startsWith(`${path}.`)),
      ),
  )
}

export function absentFields(view: View, body: unknown, fields: readonly string[]): string[] {
  const rows = view.layout === 'pairs' ? [body] : rowsOf(view, body)
  if (rows.length === 0) return []
  return fields.filter((field) => rows.every((row) => valueAt(row, field) === undefined))
}

/** The body with only the chosen fields. A list is returned as its rows. */
export function selectFields(view: View, body: unknown, fields: readonly string[]): unknown {
  const isList = Array.isArray(body) || (view.layout === 'records' && view.rows !== undefined)
  return isList ? rowsOf(view, body).map((row) => pick(row, fields)) : pick(body, fields)
}

function pick(value: unknown, fields: readonly string[]): unknown {
  return nest(fields.map((field) => [field, valueAt(value, field) ?? null]))
}
