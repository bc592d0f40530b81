import type { Installation } from '../host.ts'

/** What a command line may give a flag. */
interface FlagShape {
  type: 'option' | 'boolean'
  char?: string
  helpValue?: string
  hidden?: boolean
  required?: boolean
  options?: readonly string[]
  allowNo?: boolean
}

interface ArgumentShape {
  required?: boolean
  multiple?: boolean
  options?: readonly string[]
}

/** The arguments and flags of a command, as the build lists them. */
export interface CommandShape {
  hidden?: boolean
  args: Readonly<Record<string, ArgumentShape>>
  flags: Readonly<Record<string, FlagShape>>
}

/** The commands that help shows, by id, `settings:api:set`. */
export type Catalog = ReadonlyMap<string, CommandShape>

export function readCatalog(installation: Installation): Catalog {
  const manifest: { commands: Record<string, CommandShape> } = JSON.parse(
    installation.readFile('oclif.manifest.json').toString(),
  )
  return new Map(Object.entries(manifest.commands).filter(([, { hidden }]) => !hidden))
}

/** The flag that a word of a command line gives: `--limit=3`, `-n3`, `--no-stream`. */
export function findFlag(
  { flags }: CommandShape,
  word: string,
): { name: string; flag: FlagShape; attached: string | undefined } | undefined {
  const [, long, attached] = /^--([^=]+)(?:=(.*))?$/s.exec(word) ?? []
  if (long !== undefined) {
    const [name] =
      Object.entries(flags).find(([known, flag]) => {
        return known === long || (flag.allowNo && `no-${known}` === long)
      }) ?? []
    const flag = name === undefined ? undefined : flags[name]
    return flag && name !== undefined ? { name, flag, attached } : undefined
  }
  const [, char, rest = ''] = /^-([a-z])=?(.*)$/is.exec(word) ?? []
  const [name, flag] = Object.entries(flags).find(([, known]) => known.char === char) ?? []
  return name !== undefined && flag && char !== undefined
    ? { name, flag, attached: rest === '' ? undefined : rest }
    : undefined
}
