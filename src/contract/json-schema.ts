import * as z from 'zod/mini'

export const jsonSchemaDialect = 'https://json-schema.org/draft/2020-12/schema'

/** A JSON Schema of that dialect. */
export type JsonSchema = Record<string, unknown>

/** The JSON Schema of a type of the interface. A value that may be null has a list of types. */
export function jsonSchemaOf(type: z.ZodMiniType): JsonSchema {
  const { $schema, ...schema } = z.toJSONSchema(type, { override: ({ jsonSchema }) => simplify(jsonSchema) })
  return schema
}

function simplify(schema: JsonSchema): void {
  const { anyOf, minimum, maximum, additionalProperties: others } = schema
  // An integer may exceed the range of doubles: see `ExactNumber`.
  if (minimum === Number.MIN_SAFE_INTEGER) delete schema['minimum']
  if (maximum === Number.MAX_SAFE_INTEGER) delete schema['maximum']
  delete schema['propertyNames']
  if (typeof others === 'object' && Object.keys(others ?? {}).length === 0)
    delete schema['additionalProperties']
  if (!Array.isArray(anyOf) || anyOf.length !== 2 || anyOf[1]?.type !== 'null') return
  const { type, ...rest } = anyOf[0]
  if (typeof type !== 'string' || 'enum' in rest) return
  delete schema['anyOf']
  Object.assign(schema, { type: [type, 'null'], ...rest })
}
