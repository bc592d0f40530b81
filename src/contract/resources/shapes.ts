import * as z from 'zod/mini'

/**
 * Strict schemas for requests: only known fields of the documented types, none of them required
 * (docs/interface.md, "User", does not show which are). Lenient schemas for responses: unknown fields are kept, and
 * any documented field may be absent or null.
 *
 * The fields are created when the first value is checked. A command needs the schemas of one endpoint, and creating
 * all of them took a fifteenth of the time of a start.
 */

/** A documented field of a response: the service may omit it or send null. */
export type Maybe<T> = T | null | undefined

/** A JSON object in a response. Fields that the interface does not document are kept. */
export interface Received {
  [field: string]: unknown
}

/** A change to a resource: any subset of its fields, nested ones too. */
export type Patch<T> = {
  [K in keyof T as string extends K ? never : K]?:
    | (NonNullable<T[K]> extends Received ? Patch<NonNullable<T[K]>> : NonNullable<T[K]>)
    | undefined
}

/** A schema for each field that a type names. */
type FieldsOf<T> = {
  [K in keyof T as string extends K ? never : K]-?: z.ZodMiniType<NonNullable<T[K]>>
}

type Fields = Record<string, z.ZodMiniType>

type Optional<F extends Fields> = { [K in keyof F]: z.ZodMiniOptional<F[K]> }
type Nullish<F extends Fields> = { [K in keyof F]: z.ZodMiniOptional<z.ZodMiniNullable<F[K]>> }

/** A request object: every field is optional, unknown fields are errors. @internal */
export function request<T>(
  fields: () => FieldsOf<T>,
): z.ZodMiniObject<Optional<FieldsOf<T>>, z.core.$strict> {
  return object(() => mapFields(fields(), z.optional), nothing) as never
}

/** A response object: every field may be absent or null, unknown fields are kept. @internal */
export function response<T>(fields: () => FieldsOf<T>): z.ZodMiniObject<Nullish<FieldsOf<T>>, z.core.$loose> {
  return object(() => mapFields(fields(), z.nullish), anything) as never
}

const nothing = z.never()
const anything = z.unknown()

function object(makeShape: () => Fields, catchall: z.ZodMiniType): z.ZodMiniType {
  let shape: Fields | undefined
  return new z.ZodMiniObject({
    type: 'object',
    get shape() {
      shape ??= makeShape()
      return shape
    },
    catchall,
  })
}

function mapFields(fields: Fields, wrap: (type: z.ZodMiniType) => z.ZodMiniType): Fields {
  return Object.fromEntries(Object.entries(fields).map(([name, type]) => [name, wrap(type)]))
}
