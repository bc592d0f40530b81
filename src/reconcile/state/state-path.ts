import { join, parse } from 'node:path'

/** The name of the state file in the working directory, for commands without a file of users. */
export const defaultStateName = 'users.state.json'

/** The default name of the state file: beside the first file, `users.state.json` for `users.yaml`; `-` is stdin. */
export function stateNameFor(file: string): string {
  if (file === '-') return defaultStateName
  const { dir, name } = parse(file)
  return join(dir, `${name}.state.json`)
}
