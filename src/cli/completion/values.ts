import { modelServerNames } from '../../contract/model-server-address.ts'
import {
  candidates,
  type DeclaredCommand,
  type Flag,
  type LiveValues,
  nothing,
  type Suggestions,
  type TypedLine,
  withPrefix,
} from './suggestions.ts'

/**
 * Values of the embedded service; other services may have others (docs/interface.md, "User", shows none).
 * A test compares them with the service's own.
 */
export const roles = ['admin', 'editor', 'member'] as const
export const themeModes = ['light', 'dark', 'system'] as const
export const permissions = [
  ...['*:*', '*:api', '*:chat', '*:permissions', '*:profile', '*:settings', '*:users'],
  ...['assign:*', 'assign:permissions'],
  ...['read:*', 'read:chat', 'read:profile', 'read:settings', 'read:users'],
  ...['write:*', 'write:api', 'write:chat', 'write:profile', 'write:settings', 'write:users'],
]

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
const loopbackHosts = ['127.0.0.1', '::1']
const files: Suggestions = { candidates: [], paths: 'files' }

type Suggest = (word: string, line: TypedLine, live: LiveValues) => Promise<Suggestions> | Suggestions

const byFlag: Readonly<Record<string, Suggest>> = {
  profile: (_, __, live) => suggestProfiles(live),
  output: async (_, { command }) => {
    const { defaultFormats, outputFormats } = await import('../../config/output-formats.ts')
    return candidates(command?.documentFormats ?? (command?.offersMarkdown ? defaultFormats : outputFormats))
  },
  fields: suggestFields,
  model: (_, line, live) => suggestModels(line, live),
  prompt: async (_, __, live) => candidates((await live.prompts()).keys()),
  var: suggestVariables,
  resume: (word, _, live) => suggestSessions(word, live),
  extract: () => candidates(['all', 'last']),
  context: async (_, __, live) => ({
    candidates: (await live.sessions('')).flatMap(({ contextId, title }) =>
      contextId === undefined ? [] : [{ value: contextId, description: title }],
    ),
  }),
  role: () => candidates(roles),
  permission: (_, { command }) =>
    candidates(command?.id.startsWith('service:keys:') ? [...permissions, 'all'] : permissions),
  theme: () => candidates(themeModes),
  'allowed-method': () => candidates(methods),
  'redirect-host': () => candidates(loopbackHosts),
  'model-server': () => candidates(modelServerNames),
  quota: () => candidates(['free', 'pro']),
}

/** By the value as the help writes it. */
const byHelpValue: Readonly<Record<string, Suggestions>> = {
  FILE: files,
  'FILE...': files,
  'FILE|JSON': files,
  DIRECTORY: { candidates: [], paths: 'directories' },
  'on|off': candidates(['on', 'off']),
}

/** @param word what of the value has been typed */
export async function suggestFlagValue(
  flag: Flag,
  word: string,
  line: TypedLine,
  live: LiveValues,
): Promise<Suggestions> {
  if (flag.type !== 'option') return nothing
  if (flag.options) return candidates(flag.options)
  return byFlag[flag.name]?.(word, line, live) ?? byHelpValue[String(flag.helpValue)] ?? nothing
}

/** Candidates for the next argument. */
export async function suggestArgument(
  command: DeclaredCommand,
  word: string,
  line: TypedLine,
  live: LiveValues,
): Promise<Suggestions> {
  const known = Object.values(command.args)
  const arg = known[line.args.length] ?? known.findLast(({ multiple }) => multiple)
  if (!arg) return nothing
  if (arg.options) return candidates(arg.options)
  const [first = ''] = line.args
  switch (command.completes?.[arg.name]) {
    case 'settings key':
      return suggestSettingsKeys('')
    case 'settings assignment':
      return suggestAssignments(word, line.args)
    case 'configuration key': {
      const [assigned, key] = /^([^=]+)=/.exec(word) ?? []
      return assigned && key && command.completes?.['value'] === 'configuration value'
        ? withPrefix(assigned, await suggestConfigurationValues(key, line, live))
        : suggestConfigurationKeys(live)
    }
    case 'configuration value':
      return suggestConfigurationValues(first, line, live)
    case 'profile':
      return suggestProfiles(live)
    case 'prompt':
      return candidates((await live.prompts()).keys())
    case 'session':
      return suggestSessions(word, live)
    case 'permissions of a user':
      return line.args.length === 0
        ? nothing
        : candidates(permissions.filter((permission) => !line.args.includes(permission)))
    case 'method':
      return candidates(methods)
    case 'endpoint':
      return suggestEndpoints(first)
    default:
      return ['file', 'other'].includes(arg.name) ? files : nothing
  }
}

/** Profiles by name, with their addresses. */
async function suggestProfiles(live: LiveValues): Promise<Suggestions> {
  const { localProfile, profileNames } = await import('../../config/resolve-options.ts')
  const configuration = live.configuration()
  return {
    candidates: profileNames(configuration).map((value) => ({
      value,
      description:
        value === localProfile ? 'The embedded service' : configuration.profiles?.[value]?.base_url,
    })),
  }
}

/** Aliases of the profile, and the models of the service. */
async function suggestModels({ flags }: TypedLine, live: LiveValues): Promise<Suggestions> {
  const service = { profile: flags.get('profile'), base_url: flags.get('base-url') }
  const { profiles = {}, default_profile: standard = 'local' } = live.configuration()
  const inForce = service.profile ?? (service.base_url === undefined ? standard : '')
  const aliases = Object.entries(profiles[inForce]?.aliases ?? {})
  const models = await live.models(service)
  return {
    candidates: [
      ...aliases.map(([value, description]) => ({ value, description })),
      ...models.map((value) => ({ value })),
    ],
  }
}

/** The variables of the prompt that the line names. */
async function suggestVariables(word: string, { flags }: TypedLine, live: LiveValues): Promise<Suggestions> {
  if (word.includes('=')) return nothing
  const variables = (await live.prompts()).get(flags.get('prompt') ?? '') ?? []
  return { candidates: variables.map((name) => ({ value: `${name}=`, isOpen: true })) }
}

/** The IDs and names that begin with the word; else all sessions in which the word occurs. */
async function suggestSessions(word: string, live: LiveValues): Promise<Suggestions> {
  const sessions = await live.sessions(word)
  const isUsable = (name?: string): name is string =>
    name !== undefined && sessions.filter((one) => one.name === name).length === 1
  const all = sessions.flatMap(({ id, name, title }) => [
    { value: id, description: title },
    ...(word !== '' && isUsable(name) ? [{ value: name, description: title }] : []),
  ])
  if (all.some(({ value }) => value.startsWith(word))) return { candidates: all }
  const found = sessions.map(({ id, name, title }) => {
    const showsWord = isUsable(name) && name.toLowerCase().includes(word.toLowerCase())
    return { value: showsWord ? name : id, description: title }
  })
  return { candidates: found, areFound: true }
}

/** The last name of a list with commas: each is offered once, and another may follow. */
function suggestFields(word: string, { command }: TypedLine): Suggestions {
  const fields = command?.view?.columns.map(({ path }) => path) ?? []
  const typed = word.split(',').slice(0, -1)
  const before = typed.map((name) => `${name},`).join('')
  const free = fields.filter((name) => !typed.includes(name))
  return { candidates: free.map((name) => ({ value: before + name, isOpen: true })) }
}

async function suggestSettingsKeys(suffix: string, given: readonly string[] = []): Promise<Suggestions> {
  const { describeSettingsKey, settingsKeys } = await import('../../contract/resources/settings-file.ts')
  const free = settingsKeys.filter(({ path }) => !given.includes(path))
  return {
    candidates: free.map(({ path }) => ({
      value: path + suffix,
      description: describeSettingsKey(path),
      isOpen: suffix !== '',
    })),
  }
}

/** @param given earlier assignments of the line */
async function suggestAssignments(word: string, given: readonly string[]): Promise<Suggestions> {
  const [path = '', value] = word.split(/=(.*)/s)
  if (value === undefined) {
    return suggestSettingsKeys(
      '=',
      given.map((one) => one.split('=')[0] ?? ''),
    )
  }
  if (path === 'theme.mode') return candidates(themeModes.map((mode) => `${path}=${mode}`))
  const { settingsKeys } = await import('../../contract/resources/settings-file.ts')
  const isSwitch = settingsKeys.find((key) => key.path === path)?.type === 'boolean'
  return isSwitch ? candidates([`${path}=true`, `${path}=false`]) : nothing
}

async function suggestConfigurationKeys(live: LiveValues): Promise<Suggestions> {
  const { configurationKeys } = await import('../../config/configuration-keys.ts')
  const { aliasKey } = await import('../../config/model-aliases.ts')
  const { directoryKey } = await import('../../config/profile-directories.ts')
  const profiles = Object.values(live.configuration().profiles ?? {})
  const aliases = profiles.flatMap((profile) => Object.keys(profile.aliases ?? {}))
  const directories = Object.keys(live.configuration().directories ?? {}).map(directoryKey)
  const { candidates: known } = candidates([...configurationKeys, ...aliases.map(aliasKey), ...directories])
  const open = [aliasKey(''), directoryKey('')].map((value) => ({ value, isOpen: true }))
  return { candidates: [...known, ...open] }
}

/** The values are those of the flag with the same name. */
async function suggestConfigurationValues(
  key: string,
  line: TypedLine,
  live: LiveValues,
): Promise<Suggestions> {
  if (['read_only', 'save', 'notify'].includes(key)) return candidates(['on', 'off'])
  if (key === 'model_server_key_file') return files
  if (key === 'output') return candidates((await import('../../config/output-formats.ts')).defaultFormats)
  const [group = ''] = key.split('.')
  const names: Record<string, string> = { alias: 'model', directory: 'profile', default_profile: 'profile' }
  return byFlag[names[group] ?? key.replaceAll('_', '-')]?.('', line, live) ?? nothing
}

/** The paths of the interface for this method, up to the first placeholder. */
async function suggestEndpoints(method: string): Promise<Suggestions> {
  const { endpoints } = await import('../../contract/endpoints.ts')
  const found = Object.values(endpoints).filter((endpoint) => endpoint.method === method.toUpperCase())
  return {
    candidates: found.map(({ path }) => ({
      value: path.replace(/\{.*/, ''),
      isOpen: path.includes('{'),
    })),
  }
}
