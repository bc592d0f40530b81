import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { readTimeout } from '../../config/option-values.ts'
import { type ConfiguredQuota, parseQuota } from '../../config/quota.ts'
import { parseFileSize } from '../../config/units.ts'
import { booleanWords, parseBoolean } from '../../contract/notation/text-value.ts'
import { streamFormats } from '../../contract/resources/stream-event.ts'
import { maxTextBytes } from '../../system/files/read-named-file.ts'
import { type CodeSelection, readCodeSelection } from '../../terminal/markdown/code-selection.ts'

/** The value of a flag that is given without one. No argument of a process can contain this character. */
export const omittedValue = '\0'

/** Arguments, which oclif would otherwise read from stdin if they are missing. */
export const argument = (description: string) => Args.string({ description, ignoreStdin: true })
export const requiredArgument = (description: string) =>
  Args.string({ description, required: true, ignoreStdin: true })
export const requiredArguments = (description: string) =>
  Args.string({ description, required: true, multiple: true, ignoreStdin: true })

const parseText = async (input: string) => {
  if (input.trim() === '') throw new Error('must not be empty')
  return input
}

/** A text flag that refuses nothing at all as its value. */
export const textFlag = Flags.custom<string>({ parse: parseText })

export const textListFlag = Flags.custom<string>({
  parse: parseText,
  multiple: true,
  multipleNonGreedy: true,
})

/**
 * A text flag whose value may be omitted: it is then `true`. With `helpValue: '[VALUE]'`, the next word is the
 * value if it does not begin with a dash. With `'[=VALUE]'`, only an attached value is.
 */
export const optionalTextFlag = Flags.custom<string | true>({
  parse: async (input) => (input === omittedValue ? true : parseText(input)),
})

/** Code blocks of a reply; without a value, the first one. */
export const codeFlag = Flags.custom<CodeSelection>({
  helpValue: '[=N|last|all]',
  parse: async (input) => {
    const selection = input === omittedValue ? 1 : readCodeSelection(input)
    if (selection === undefined) throw new Error(`"${input}" is not the number of a code block, last, or all`)
    return selection
  },
})

export const integerFlag = Flags.custom<number, { min?: number; max?: number }>({
  parse: async (input, _, { min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER }) => {
    const value = Number(input)
    if (!/^[+-]?\d+$/.test(input)) throw new Error(`"${input}" is not a whole number`)
    if (value < min || value > max) throw new Error(`"${input}" is not between ${min} and ${max}`)
    return value
  },
})

/** A port to listen on, 0 for any free one, or `off`. */
export const portFlag = Flags.custom<number | 'off'>({
  parse: async (input) => {
    if (input === 'off') return 'off'
    if (/^\d{1,5}$/.test(input) && Number(input) <= 65_535) return Number(input)
    throw new Error(`"${input}" is not a port from 0 to 65535, and not off`)
  },
})

/** A line of a file, or a place on it: `12`, `1:58`. Both are from 1. */
export const placeFlag = Flags.custom<{ line: number; column?: number }>({
  parse: async (input) => {
    const [, line, column] = /^0*([1-9]\d{0,14})(?::0*([1-9]\d{0,14}))?$/.exec(input) ?? []
    if (line === undefined)
      throw new Error(`"${input}" is not a line number such as 12, or 1:58 with a column`)
    return { line: Number(line), column: column === undefined ? undefined : Number(column) }
  },
})

export const numberFlag = Flags.custom<number>({
  parse: async (input) => {
    const value = Number(input)
    // Number() alone would take 0x10 and white space too.
    if (!/^[+-]?(\d+(?:\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(input) || !Number.isFinite(value))
      throw new Error(`"${input}" is not a number`)
    return value
  },
})

/** Milliseconds, from `10s`, `5m` and the like. */
export const durationFlag = Flags.custom<number>({
  parse: async (input) => {
    try {
      return readTimeout(input)
    } catch (error) {
      throw new Error(`"${input}" ${(error as Error).message}`)
    }
  },
})

/** Bytes, from `500k`, `2m`, and the like. */
export const fileSizeFlag = Flags.custom<number>({
  helpValue: 'SIZE',
  parse: async (input) => {
    const bytes = parseFileSize(input)
    if (bytes === undefined) throw new Error(`"${input}" is not a size such as 500k or 2m`)
    if (bytes < 1 || bytes > maxTextBytes) throw new Error(`"${input}" is not between 1 byte and 64m`)
    return bytes
  },
})

/** No more than so many requests in a window: `100/h`, or the name of a tier. */
export const quotaFlag = Flags.custom<ConfiguredQuota>({
  helpValue: 'QUOTA',
  parse: async (input) => parseQuota(input),
})

/** The format of a streamed reply, for a service whose format is not detected. */
export const streamFormatFlag = Flags.option({
  helpValue: 'FORMAT',
  options: streamFormats,
  summary: 'Format of the reply stream: auto, sse, ndjson, json, or text (default: auto)',
})

/** `on` or `off`; `true` and `false` say the same. */
export const switchFlag = Flags.custom<boolean>({
  helpValue: 'on|off',
  parse: async (input) => {
    const value = parseBoolean(input)
    if (value === undefined) throw new Error(`"${input}" must be ${booleanWords}`)
    return value
  },
})
