import { type Endpoint, type EndpointName, endpoints } from '../../contract/endpoints.ts'
import { type JsonSchema, jsonSchemaOf } from '../../contract/json-schema.ts'
import type { Column, View } from '../../view/format/view.ts'

/** The JSON Schema of what `--json` prints with a view. Any value may be absent or null. */
export function outputSchema({ json = 'columns', columns }: View): JsonSchema {
  const row = objectOf(columns)
  if (json === 'any') return {}
  if (json === 'columns') return row
  if (json === 'list') return listOf(row)
  if (typeof json === 'string') return responseSchema(json, columns)
  if (!('either' in json)) return objectOf(json)
  const one = json.either === 'columns' ? row : responseSchema(json.either, columns)
  return { anyOf: [one, listOf(one)] }
}

/** The response of an endpoint, with the columns that it lacks, if it is the row that the columns describe. */
function responseSchema(name: EndpointName, columns: readonly Column[]): JsonSchema {
  const { response }: Endpoint = endpoints[name]
  const { properties, ...schema } = response ? jsonSchemaOf(response) : {}
  const isRow = columns.some(({ path }) => Object.hasOwn(properties ?? {}, path))
  return { ...schema, properties: { ...(isRow && propertiesOf(columns)), ...(properties as object) } }
}

function objectOf(fields: readonly Column[]): JsonSchema {
  return { type: 'object', properties: propertiesOf(fields) }
}

function listOf(items: JsonSchema): JsonSchema {
  return { type: 'array', items }
}

/** In a path, `.` separates steps, and `[]` after a step means the elements of a list. */
function propertiesOf(fields: readonly Column[]): Record<string, JsonSchema> {
  const groups = Map.groupBy(fields, ({ path }) => path.split('.', 1)[0] ?? '')
  return Object.fromEntries(
    [...groups].map(([step, group]) => {
      const inner = group
        .filter(({ path }) => path !== step)
        .map((field) => ({ ...field, path: field.path.slice(step.length + 1) }))
      const schema = inner.length > 0 ? objectOf(inner) : typeOf(group[0])
      const name = step.replace('[]', '')
      return [name, name === step ? orNull(schema) : orNull(listOf(schema))]
    }),
  )
}

function typeOf({ open, type }: Partial<Column> = {}): JsonSchema {
  if (type === 'any') return {}
  if (type === 'strings' || type === 'objects') return listOf({ type: type.slice(0, -1) })
  return { type: type ?? (open ? 'object' : 'string') }
}

function orNull({ type, ...schema }: JsonSchema): JsonSchema {
  return type === undefined ? schema : { type: [type, 'null'], ...schema }
}
