import type { Call } from '../calls.ts'

/** What a call needs of the machine, and so what it can miss. */

/** Whether the configuration file is read, and judged: by most, for it may have the form of every output. */
export function needsConfiguration(call: Call): boolean {
  return needsOptions(call) && call.name !== 'config:path'
}

/** The files that lie where the call is made and that it reads. */
export function namesFile({ args }: Pick<Call, 'args'>): boolean {
  return args.some((word) => /^[a-z]+\.(csv|yaml|jsonl|txt|crt|key)$|^copy\.db$/.test(word))
}

/** Whether the service of the profile is asked. */
function asksService({ name, service }: Call): boolean {
  return (
    service !== undefined ||
    /^(auth:login that|history:export to|users:|settings:(edit|api|diff|apply)|chat:(send|complete))/.test(
      name,
    )
  )
}

/** Whether the credential of the profile is read; signing in replaces it. */
export function needsCredential(call: Call): boolean {
  return call.name === 'auth:token' || (asksService(call) && !call.name.startsWith('auth:login'))
}

/** Whether the data of the embedded service is opened. */
export function needsData({ name }: Call): boolean {
  return name.startsWith('service:')
}

/** Whether a change of the configuration or of a credential is its purpose. */
export function keepsSomething({ name }: Call): boolean {
  return /^(config:(set|unset)|auth:(use|login|logout))/.test(name)
}

/** Whether the options are judged, which come from flags, environment and configuration: not where a shell asks. */
export function needsOptions({ name }: Call): boolean {
  return name !== 'complete' && name !== 'autocomplete'
}

/** Whether it cannot go on without a record of its own on this machine, in the folder of states. */
export function needsState({ name, args }: Call): boolean {
  return /^(history:export|users:import)/.test(name) || args.includes('roles.csv')
}

/** Whether it writes a file or uses a data directory where it is called. */
export function writesHere({ args }: Call): boolean {
  return ['new.db', 'history.json', 'new-data'].some((name) => args.includes(name))
}
