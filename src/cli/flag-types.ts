import * as Flags from '@oclif/core/flags'

/** A text flag that refuses nothing at all as its value. */
export const textFlag = Flags.custom<string>({
  parse: async (input) => {
    if (input.trim() === '') throw new Error('must not be empty')
    return input
  },
})

export const integerFlag = Flags.custom<number>({
  parse: async (input) => {
    const value = Number(input)
    if (!/^[+-]?\d+$/.test(input) || !Number.isSafeInteger(value))
      throw new Error(`"${input}" is not a whole number`)
    return value
  },
})

export const numberFlag = Flags.custom<number>({
  parse: async (input) => {
    const value = Number(input)
    if (input.trim() === '' || !Number.isFinite(value)) throw new Error(`"${input}" is not a number`)
    return value
  },
})

/** `on` or `off`, and the words that people type for them. */
export const switchFlag = Flags.custom<boolean>({
  helpValue: 'on|off',
  parse: async (input) => {
    const value = readSwitch(input)
    if (value === undefined) throw new Error(`"${input}" is neither on nor off`)
    return value
  },
})

export function readSwitch(text: string): boolean | undefined {
  if (['on', 'true', 'yes', '1'].includes(text.toLowerCase())) return true
  if (['off', 'false', 'no', '0'].includes(text.toLowerCase())) return false
  return undefined
}
