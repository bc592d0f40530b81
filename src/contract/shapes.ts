import * as z from 'zod/mini'

/**
 * Two readings of one shape. Requests are built strictly: only known fields, each of its
 * documented type, none required (interface.md does not show which are). Answers are read
 * leniently: unknown fields are kept, and any documented field may be absent or null.
 */

type Fields = Record<string, z.ZodMiniType>

type Optional<F extends Fields> = { [K in keyof F]: z.ZodMiniOptional<F[K]> }
type Nullish<F extends Fields> = { [K in keyof F]: z.ZodMiniOptional<z.ZodMiniNullable<F[K]>> }

/** A request object: every field optional, unknown fields refused. */
export function request<F extends Fields>(fields: F): z.ZodMiniObject<Optional<F>, z.core.$strict> {
  const optional = Object.entries(fields).map(([name, type]) => [name, z.optional(type)])
  return z.strictObject(Object.fromEntries(optional) as Optional<F>)
}

/** An answer object: every field optional or null, unknown fields kept. */
export function answer<F extends Fields>(fields: F): z.ZodMiniObject<Nullish<F>, z.core.$loose> {
  const nullish = Object.entries(fields).map(([name, type]) => [name, z.nullish(type)])
  return z.looseObject(Object.fromEntries(nullish) as Nullish<F>)
}
