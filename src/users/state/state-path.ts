import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { dirname, join, parse, resolve } from 'node:path'

/** The name of the state file in the working directory, for commands without a file of users. */
export const defaultStateName = 'users.state.json'

/** The default name of the state file: beside the first file, `users.state.json` for `users.yaml`; `-` is stdin. */
export function stateNameFor(file: string): string {
  if (file === '-') return defaultStateName
  const { dir, name } = parse(file)
  return join(dir, `${name}.state.json`)
}

/** The path without symbolic links; the last one may name a file that does not exist yet. */
export function targetOf(path: string): string {
  if (existsSync(path)) return realpathSync(path)
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()
  return isLink ? resolve(dirname(path), readlinkSync(path)) : path
}
