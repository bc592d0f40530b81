import type { Flagged } from './flag-values.ts'
import type { Form } from './forms.ts'

type Codes = readonly number[]

/** Flags that have a command end otherwise than without them, all being well; by flag, or command and flag. */
const endings: Record<string, Codes> = {
  // What is tried is not there.
  database: [69],
  'service:backup database': [2],
  'service:restore database': [2],
  'service:backup data': [6],
  'service:users:reset data': [6],
  'service:sessions:revoke data': [6],
  'service:keys:revoke data': [6],
  'service:keys:update data': [6],
  'chat continue': [2],
  'chat:send continue': [2],
  // The session of the others is with another connection, and no row of theirs is unknown.
  'chat resume': [0, 2],
  'users:import id': [0, 2],
  'users:import line': [0, 2],
  // No import is unfinished.
  'users:import close': [2],
  'users:permissions:assign close': [2],
  'settings:diff exit-code': [10],
  // Nobody signs in; where nobody could, it says so at once.
  ...Object.fromEntries(
    ['web', 'browser', 'pkce', 'wait', 'client-id', 'token-url', 'auth-url', 'scope'].map((flag) => [
      `auth:login ${flag}`,
      [3, 4, 130],
    ]),
  ),
  'auth:login redirect-host': [3, 4, 130],
  'auth:login redirect-port': [3, 4, 130],
  'auth:login redirect-path': [3, 4, 130],
}

/** What is no misreading of the line, but is not there, or cannot be written. */
const nonsense: Record<string, Codes> = {
  results: [1],
  save: [1],
  user: [6],
  'chat resume': [2, 6],
  // Those that make profiles, or list them, do not need one.
  'config:set profile': [0],
  'auth:list profile': [0],
  'auth:use profile': [0],
  'auth:login profile': [0, 3, 4],
  // The form is that of --json where that is given.
  'history:export to': [0, 2],
}

/** What every command knows of, and some have no use for. */
const refusals: Record<string, Codes> = {
  // The key is kept for a profile; and what is done on this machine is not done on a service.
  'base-url': [2, 3, 4],
  profile: [2],
  fields: [1, 2],
  jq: [2],
  'chat json': [2],
  'chat no-input': [2],
}

/** The same in one output format. */
const endingsInForm: Partial<Record<Form, Record<string, Codes>>> = {
  // Headers are not JSON.
  JSON: { 'api include': [2] },
}

/** The exit codes that a command with one more flag may have. */
export function expectedCodes({ command, flag, kind, fine }: Flagged, form: Form): Codes {
  // What it has no use for is not judged: it is called whenever a shell starts.
  if (command === 'autocomplete' && kind !== 'valid') return [0, 2]
  const exceptions =
    kind === 'valid' ? { ...endings, ...endingsInForm[form] } : kind === 'nonsense' ? nonsense : {}
  const usual = kind === 'valid' ? [fine[form]] : [2]
  const refused = kind === 'valid' ? (refusals[`${command} ${flag}`] ?? refusals[flag] ?? []) : []
  return [...(exceptions[`${command} ${flag}`] ?? exceptions[flag] ?? usual), ...refused]
}
