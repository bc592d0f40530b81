import * as Flags from '@oclif/core/flags'
import { readGuardVariable } from '../../config/option-values.ts'
import { parsePeriod } from '../../config/units.ts'
import { Failure } from '../../contract/failure.ts'
import { readSealKey, type SealKey } from '../../system/files/sealed-plan.ts'
import type { Context } from '../context/context.ts'
import { textFlag } from '../flags/flag-types.ts'
import { readSecretFile } from './read-input.ts'

export const sealKeyFlag = {
  'seal-key-file': textFlag({ helpValue: 'FILE', summary: 'File with the key of sealed plans' }),
}

export const planFlags = {
  seal: Flags.boolean({ dependsOn: ['save'], summary: 'Encrypt the plan' }),
  ...sealKeyFlag,
  'valid-for': Flags.custom<number>({
    dependsOn: ['save'],
    helpValue: 'DURATION',
    summary: 'Refuse the plan when it is older than this: 7d, 12h',
    parse: async (input) => {
      const ms = parsePeriod(input)
      if (!ms) throw new Error(`"${input}" is not a duration such as 7d or 12h`)
      return ms
    },
  })(),
}

export interface KeyFlags {
  'seal-key-file': string | undefined
}

export interface SaveFlags extends KeyFlags {
  seal: boolean
  save: string | undefined
  'valid-for': number | undefined
}

/** The key for a sealed plan that is read. @throws Failure `refused`; `usage` for an empty variable */
export function findSealKey({ 'seal-key-file': file }: KeyFlags, context: Context): SealKey | undefined {
  if (file !== undefined) return readSealKey(readSecretFile(file, context), `--seal-key-file ${file}`)
  const text = readGuardVariable('CHATCTL_SEAL_KEY', context.env)
  return text === undefined ? undefined : readSealKey(text, 'CHATCTL_SEAL_KEY')
}

/**
 * The key for a plan that is saved; undefined without `--seal`.
 * @throws Failure `refused`; `usage` if the plan would not be sealed although a key was named
 */
export function sealKeyForSave(flags: SaveFlags, context: Context): SealKey | undefined {
  if (!flags.seal) {
    if (flags.save === undefined || flags['seal-key-file'] === undefined) return undefined
    throw new Failure('usage', '--save with --seal-key-file requires --seal')
  }
  const key = findSealKey(flags, context)
  if (key) return key
  throw new Failure('usage', '--seal requires a key: --seal-key-file FILE or CHATCTL_SEAL_KEY', {
    advice: [{ code: 'make_seal_key' }],
  })
}
