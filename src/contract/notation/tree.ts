import { isRecord } from './exact-json.ts'

/** The value at a dotted path. Undefined if any step is missing. */
export function valueAt(value: unknown, path: string): unknown {
  let here = value
  for (const step of path.split('.')) {
    if (!(isRecord(here) || Array.isArray(here)) || !Object.hasOwn(here, step)) return undefined
    here = (here as Record<string, unknown>)[step]
  }
  return here
}

/** Every value that is not a non-empty object, with its dotted path. */
export function leavesOf(value: unknown, path = ''): [path: string, value: unknown][] {
  if (!isRecord(value) || Object.keys(value).length === 0) return path ? [[path, value]] : []
  return Object.entries(value).flatMap(([key, inner]) => leavesOf(inner, path ? `${path}.${key}` : key))
}

type Branch = Map<string, unknown>

/** The inverse of `leavesOf`. Of two values at one path, the last one applies. */
export function nest(leaves: Iterable<readonly [path: string, value: unknown]>): Record<string, unknown> {
  const root: Branch = new Map()
  for (const [path, value] of leaves) {
    const steps = path.split('.')
    const last = steps.pop() ?? ''
    let branch = root
    for (const step of steps) {
      const below = branch.get(step)
      const next: Branch =
        below instanceof Map ? below : new Map(isRecord(below) ? Object.entries(below) : [])
      branch.set(step, next)
      branch = next
    }
    branch.set(last, value)
  }
  return objectOf(root)
}

/** Object.fromEntries defines a property of any name, even `__proto__`. */
function objectOf(branch: Branch): Record<string, unknown> {
  return Object.fromEntries(
    [...branch].map(([key, value]) => [key, value instanceof Map ? objectOf(value) : value]),
  )
}
