/** A flag, as the command or the manifest declares it. */
export interface ValuedFlag {
  type: 'boolean' | 'option'
  /** `VALUE`; `[VALUE]` if it may be omitted; `[=VALUE]` if it may be omitted, and is never the next word. */
  helpValue?: string | string[] | undefined
}

/** The value of a flag that is given without one. No argument of a process can contain this character. */
export const omittedValue = '\0'

export function mayOmitValue({ type, helpValue }: ValuedFlag): boolean {
  return type === 'option' && String(helpValue).startsWith('[')
}

export function isValueAttached({ helpValue }: Pick<ValuedFlag, 'helpValue'>): boolean {
  return String(helpValue).startsWith('[=')
}

/** Whether a word after a flag without an attached value is its value. */
export function takesNextWord(flag: ValuedFlag, next: string): boolean {
  if (flag.type === 'boolean' || isValueAttached(flag)) return false
  return !mayOmitValue(flag) || !next.startsWith('-')
}
