import * as z from 'zod/mini'
import { withDoubles } from './notation/exact-json.ts'

/** A place where a value does not match its schema. */
export interface Fault {
  /** Dotted path from the root, such as `messages.0.role`; empty for the root itself. */
  path: string
  message: string
}

/**
 * z.safeParse for values read from JSON or YAML. zod takes an `ExactNumber` for an object, so it checks a
 * copy with doubles; the returned data keep the exact numbers.
 * @internal
 */
export function checkShape<S extends z.ZodMiniType>(
  schema: S,
  value: unknown,
): ReturnType<typeof z.safeParse<S>> {
  const plain = withDoubles(value)
  const result = z.safeParse(schema, plain)
  // No schema of the contract transforms its value.
  return result.success && plain !== value ? { ...result, data: value as z.output<S> } : result
}

/** Describes a schema's issues. Each unknown key is a separate fault. @internal */
export function faultsOf(error: z.core.$ZodError): Fault[] {
  return error.issues.flatMap((issue) => {
    const path = issue.path.map(String)
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({ path: [...path, key].join('.'), message: 'is not a known field' }))
    }
    return [{ path: path.join('.'), message: wordsOf(issue) }]
  })
}

function wordsOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${articled(issue.expected)}`
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}`
    case 'too_big':
      return `must not be more than ${issue.maximum}`
    case 'too_small':
      return `must not be less than ${issue.minimum}`
    default:
      return issue.message
  }
}

function articled(type: string): string {
  const name = type === 'int' ? 'integer' : type === 'record' ? 'object' : type
  return /^[aeio]/.test(name) ? `an ${name}` : `a ${name}`
}
