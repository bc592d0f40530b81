/** A string with expanded references, and the faults of the others. */
export interface Expansion {
  text: string
  /** Whether there was a reference. */
  expanded: boolean
  /** `reference` is the source text of the reference. */
  faults: { reference: string; words: string }[]
}

const reference = /\$\$\{|\$\{([^}]*)\}?/g

/** Replaces each `${NAME}` by the environment variable; `$${` is a literal `${`. */
export function expandReferences(text: string, env: NodeJS.ProcessEnv): Expansion {
  const faults: Expansion['faults'] = []
  let expanded = false
  const result = text.replace(reference, (whole: string, name: string | undefined) => {
    if (name === undefined) return '${'
    if (!/^[A-Za-z_]\w*$/.test(name) || !whole.endsWith('}')) {
      const words = `contains ${whole}, which is not a valid reference; write $\${ for a literal $\{`
      faults.push({ reference: whole, words })
      return whole
    }
    expanded = true
    // Own properties only, because every object has a `constructor`.
    const value = Object.hasOwn(env, name) ? env[name] : undefined
    if (value === undefined) faults.push({ reference: whole, words: `needs ${name}, which is not set` })
    return value ?? whole
  })
  return { text: result, expanded, faults }
}
