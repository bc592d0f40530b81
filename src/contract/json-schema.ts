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

/** Text that only chatctl and its user write. Other people or a model may have written all other text. */
export const ownText =
  ' action admin_url also_running arguments as_of at backup base_url check command credential data ' +
  'database disabled_at effect examples exit_codes expires_at exported_at flags former_name ' +
  'generated_password kept key kind last_used_at method mode non_interactive origin other_schemas ' +
  'outcome prefix profile profile_from public_url replaces.expires_at replaces.revoked_at requests_note ' +
  'revoked_at running.admin_url running.started_at running.url running.version schema session_id source ' +
  'status step storage stored summary tier turns.at turns.status type updated_at '

/** The schema with a mark on text, and on objects that may contain text, unless it is in the list above. */
export function markText(schema: JsonSchema, path = ''): JsonSchema {
  const { anyOf, items, properties, type } = schema
  if (Array.isArray(anyOf)) return { ...schema, anyOf: anyOf.map((one) => markText(one, path)) }
  if (items) return { ...schema, items: markText(items as JsonSchema, path) }
  if (properties) {
    const mark = ([name, one]: [string, JsonSchema]) => [name, markText(one, path ? `${path}.${name}` : name)]
    return { ...schema, properties: Object.fromEntries(Object.entries(properties).map(mark)) }
  }
  const isText = [type ?? 'object'].flat().some((one) => one === 'string' || one === 'object')
  return isText && !ownText.includes(` ${path} `) ? { ...schema, 'x-untrusted': true } : schema
}
