import { isRecord } from '../contract/notation/exact-json.ts'

/** Scalars and lists by their dotted path. */
export type Leaves = ReadonlyMap<string, unknown>

/** The leaves of nested objects. An object without keys has none. */
export function leavesOf(value: object): Leaves {
  const leaves = new Map<string, unknown>()
  const collect = (object: object, above: string): void => {
    for (const [key, inner] of Object.entries(object)) {
      if (isRecord(inner)) collect(inner, `${above}${key}.`)
      else if (inner !== undefined) leaves.set(above + key, inner)
    }
  }
  collect(value, '')
  return leaves
}

type Branch = Map<string, unknown>

/** The inverse of `leavesOf`. */
export function patchOf(leaves: Leaves): object {
  const root: Branch = new Map()
  for (const [path, value] of leaves) {
    const steps = path.split('.')
    const last = steps.pop() ?? ''
    let branch = root
    for (const step of steps) {
      const below = branch.get(step)
      const next: Branch = below instanceof Map ? below : new Map()
      branch.set(step, next)
      branch = next
    }
    branch.set(last, value)
  }
  return objectOf(root)
}

/** Object.fromEntries defines a property of any name, even `__proto__`. */
function objectOf(branch: Branch): object {
  return Object.fromEntries(
    [...branch].map(([key, value]) => [key, value instanceof Map ? objectOf(value) : value]),
  )
}
