/** A text whose references were replaced, and what is wrong with those that could not be. */
export interface Expansion {
  text: string
  /** Whether there was a reference. */
  expanded: boolean
  /** Each as it stands in the text, and why. */
  faults: { reference: string; words: string }[]
}

const reference = /\$\$\{|\$\{([^}]*)\}?/g

/** Replaces each `${NAME}` by what the environment holds for it; `$${` is a literal `${`. */
export function expandReferences(text: string, env: NodeJS.ProcessEnv): Expansion {
  const faults: Expansion['faults'] = []
  let expanded = false
  const result = text.replace(reference, (whole: string, name: string | undefined) => {
    if (name === undefined) return '${'
    if (!/^[A-Za-z_]\w*$/.test(name) || !whole.endsWith('}')) {
      const words = `has ${whole}, which is no reference; write $\${ for a literal $\{`
      faults.push({ reference: whole, words })
      return whole
    }
    expanded = true
    // An object's own names alone: every object has a `constructor`.
    const value = Object.hasOwn(env, name) ? env[name] : undefined
    if (value === undefined) faults.push({ reference: whole, words: `needs ${name}, which is not set` })
    return value ?? whole
  })
  return { text: result, expanded, faults }
}
