import { Ajv, type ErrorObject } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { Context } from '../../../cli/context/context.ts'
import { readTextFile } from '../../../cli/input/read-input.ts'
import { Failure } from '../../../contract/failure.ts'
import { isRecord, parseJson, withDoubles } from '../../../contract/notation/exact-json.ts'
import { locateJson } from '../../../contract/notation/locate-json.ts'
import { placesIn } from '../../../contract/notation/located.ts'

export type ReplySchema = ReturnType<typeof readSchema>

/**
 * @param given the name of a file, or JSON
 * @returns the schema as it was given, the format of a request, and the check, which tells what does not fit
 * @throws Failure `refused` naming the place of the first fault
 */
export function readSchema(given: string, context: Context) {
  const isFile = !given.trimStart().startsWith('{')
  const source = isFile ? readTextFile(given, context, undefined, `the JSON Schema "${given}"`) : given
  const refusal = (words: string) => new Failure('refused', `${isFile ? given : '--schema'}${words}`)
  const { fault } = locateJson(source, { depth: 1_000 })
  const { line, column } = placesIn(source)(fault?.at ?? 0)
  if (fault) throw refusal(`:${line}:${column}: ${fault.words}`)
  const value = parseJson(source)
  if (!isRecord(value)) throw refusal(': A JSON Schema must be an object')
  const { $schema: version = '2020-12', ...rest } = withDoubles(value) as typeof value
  const [draft] = /draft-07|2020-12/.exec(String(version)) ?? []
  if (draft === undefined) throw refusal(': /$schema must be that of draft-07 or 2020-12')
  const ajv = new (draft === 'draft-07' ? Ajv : Ajv2020)({ allErrors: true, strict: false, logger: false })
  addFormats.default(ajv)
  // With this extension of Ajv, the check would return a promise.
  if (rest['$async']) throw refusal(': /$async is not supported')
  if (!ajv.validateSchema(rest)) throw refusal(`: ${describe(ajv.errors?.[0])}`)
  try {
    const fits = ajv.compile(rest)
    const check = (reply: unknown) => (fits(withDoubles(reply)) ? [] : (fits.errors ?? []).map(describe))
    const format = { type: 'json_schema' as const, json_schema: { name: 'reply', schema: value } }
    return { source: source.trim(), format, check }
  } catch (error) {
    throw refusal(`: ${(error as Error).message}`)
  }
}

/** `/items/0/price must be >= 0`. */
function describe({ instancePath = '', message, params = {} }: Partial<ErrorObject> = {}): string {
  const { allowedValues, allowedValue, additionalProperty, unevaluatedProperty } = params
  const named = allowedValues ?? allowedValue ?? additionalProperty ?? unevaluatedProperty
  return `${instancePath || 'the value'} ${message}${named === undefined ? '' : `: ${JSON.stringify(named)}`}`
}
