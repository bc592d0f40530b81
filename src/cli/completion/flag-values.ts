import { upstreamNames } from '../../contract/upstream-address.ts'
import { permissions, roles, themeModes } from './known-values.ts'
import type { LiveValues } from './live-values.ts'
import { candidates, nothing, type Suggestions } from './suggestions.ts'
import type { DeclaredCommand, Flag, TypedLine } from './typed-line.ts'

/** @param word what of the value has been typed */
export async function suggestFlagValue(
  flag: Flag,
  word: string,
  line: TypedLine,
  live: LiveValues,
): Promise<Suggestions> {
  if (flag.type !== 'option') return nothing
  if (flag.options) return candidates(flag.options)
  switch (flag.name) {
    case 'profile':
      return suggestProfiles(live)
    case 'output':
      return candidates(await formatsOf(line.command))
    case 'fields':
      return suggestFields(word, line.command)
    case 'model':
      return suggestModels(line, live)
    case 'prompt':
      return suggestPrompts(live)
    case 'var':
      return suggestVariables(word, line, live)
    case 'resume':
      return suggestSessions(live)
    case 'extract':
      return candidates(['all', 'last'])
    case 'context':
      return suggestContexts(live)
    case 'role':
      return candidates(roles)
    case 'permission':
      return candidates(line.command?.id.startsWith('service:keys:') ? [...permissions, 'all'] : permissions)
    case 'theme':
      return candidates(themeModes)
    case 'allowed-method':
      return candidates(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])
    case 'redirect-host':
      return candidates(['127.0.0.1', '::1'])
    case 'upstream':
      return candidates(upstreamNames)
    case 'quota':
      return candidates(['free', 'pro'])
    default:
      return byHelpValue(flag.helpValue)
  }
}

/** What a value is to be, as the help says it. */
function byHelpValue(helpValue: string | string[] | undefined): Suggestions {
  switch (String(helpValue)) {
    case 'FILE':
    case 'FILE...':
      return { candidates: [], paths: 'files' }
    case 'DIRECTORY':
      return { candidates: [], paths: 'directories' }
    case 'on|off':
      return candidates(['on', 'off'])
    default:
      return nothing
  }
}

/** Profiles by name, with their addresses. */
export async function suggestProfiles(live: LiveValues): Promise<Suggestions> {
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
export async function suggestModels(line: TypedLine, live: LiveValues): Promise<Suggestions> {
  const { profile, base_url: baseUrl } = serviceFlagsOf(line)
  const { profiles = {}, default_profile: standard = 'local' } = live.configuration()
  const inForce = profile ?? (baseUrl === undefined ? standard : '')
  const aliases = Object.entries(profiles[inForce]?.aliases ?? {})
  const models = await live.models(serviceFlagsOf(line))
  return {
    candidates: [
      ...aliases.map(([value, description]) => ({ value, description })),
      ...models.map((value) => ({ value })),
    ],
  }
}

export async function suggestPrompts(live: LiveValues): Promise<Suggestions> {
  return candidates((await live.prompts()).names())
}

/** The variables of the prompt that the line names. */
async function suggestVariables(word: string, { flags }: TypedLine, live: LiveValues): Promise<Suggestions> {
  if (word.includes('=')) return nothing
  const variables = (await live.prompts()).variablesOf(flags.get('prompt') ?? '')
  return { candidates: variables.map((name) => ({ value: `${name}=`, isOpen: true })) }
}

export async function suggestSessions(live: LiveValues): Promise<Suggestions> {
  const sessions = await live.sessions()
  const names = sessions.flatMap(({ id, name }) =>
    // A name with a line break would be two candidates.
    name === undefined || /[\r\n]/.test(name) ? [] : [{ value: name, description: id }],
  )
  return { candidates: [...sessions.map(({ id, title }) => ({ value: id, description: title })), ...names] }
}

async function suggestContexts(live: LiveValues): Promise<Suggestions> {
  const sessions = await live.sessions()
  return {
    candidates: sessions.flatMap(({ contextId, title }) =>
      contextId === undefined ? [] : [{ value: contextId, description: title }],
    ),
  }
}

/** The service that a line means, as far as its flags say it. */
function serviceFlagsOf({ flags }: TypedLine): { profile?: string; base_url?: string } {
  const profile = flags.get('profile')
  const baseUrl = flags.get('base-url')
  return {
    ...(profile === undefined ? {} : { profile }),
    ...(baseUrl === undefined ? {} : { base_url: baseUrl }),
  }
}

async function formatsOf(command: DeclaredCommand | undefined): Promise<readonly string[]> {
  const { defaultFormats, outputFormats } = await import('../../config/output-formats.ts')
  return command?.documentFormats ?? (command?.offersMarkdown ? defaultFormats : outputFormats)
}

/** The last name of a list with commas: each is offered once, and another may follow. */
function suggestFields(word: string, command: DeclaredCommand | undefined): Suggestions {
  const fields = command?.view?.columns.map(({ path }) => path) ?? []
  const typed = word.split(',').slice(0, -1)
  const before = typed.map((name) => `${name},`).join('')
  const free = fields.filter((name) => !typed.includes(name))
  return { candidates: free.map((name) => ({ value: before + name, isOpen: true })) }
}
