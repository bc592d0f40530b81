import type { Call } from '../calls.ts'

/** What a call needs from the machine. */

/**
 * Whether the configuration file is read and validated. Most calls do so, because it may contain the output
 * format.
 */
export function needsConfiguration(call: Call): boolean {
  return needsOptions(call) && call.name !== 'config:path'
}

/** Whether the call reads files in the working directory. */
export function namesFile({ args }: Pick<Call, 'args'>): boolean {
  return args.some((word) => /^[a-z]+\.(csv|yaml|jsonl|txt|crt|key|md|state\.json)$|^copy\.db$/.test(word))
}

/** Whether the call sends requests to the service of the profile. */
function asksService({ name, service }: Call): boolean {
  return (
    service !== undefined ||
    /^(exec|auth:token with valid --(permission|for)|auth:login that|history:(export to|sync)|users:(?!list|state)|settings:(edit|api:set|diff|apply|revert)|chat:(send|complete))/.test(
      name,
    )
  )
}

/** Whether the call reads the credential of the profile. Signing in replaces it. */
export function needsCredential(call: Call): boolean {
  return /^auth:(token|refresh)/.test(call.name) || (asksService(call) && !call.name.startsWith('auth:login'))
}

/** Whether the call opens the data of the embedded service. */
export function needsData({ name }: Call): boolean {
  return name.startsWith('service:') || name === 'settings:history with valid --service'
}

/** Whether the purpose of the call is to change the configuration, a credential, or a file of its data. */
export function keepsSomething({ name }: Call): boolean {
  return /^(config:(set|unset)|auth:(use|login|logout|remove|rename)|chat:(rename|delete|prompts:(set|delete))|history:sync)/.test(
    name,
  )
}

/**
 * Whether the call validates the options from flags, environment, and configuration. Shell completion does
 * not.
 */
export function needsOptions({ name }: Call): boolean {
  return name !== 'complete' && name !== 'autocomplete'
}

/** Whether the call cannot continue if it cannot write to the state directory. */
export function needsState({ name, args }: Call): boolean {
  return (
    /^(history:export|users:import|users:diff with valid --quota|users:apply(?! without| with valid --dry-run))/.test(
      name,
    ) ||
    args.includes('roles.csv') ||
    args.includes('--each')
  )
}

/** Whether the call writes a file or uses a data directory in the working directory. */
export function writesHere({ name, args }: Call): boolean {
  // The state file of users.
  if (/^users:(adopt|state:)/.test(name)) return true
  return [
    'new.db',
    'history.json',
    'new-data',
    'plan.json',
    'results.csv',
    'settings.json',
    'user.json',
  ].some((file) => args.includes(file))
}
