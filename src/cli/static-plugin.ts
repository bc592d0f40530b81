import type { Command } from '@oclif/core/command'
import type { Plugin } from '@oclif/core/interfaces'
import type { Host, Installation } from './host.ts'

type Manifest = { commands: Record<string, Omit<Command.Loadable, 'load'>> }

type LoadCommand = (id: string) => Command.Class

/**
 * The commands as oclif's plugin loader would find them, but read from the manifest alone: no
 * directory is searched and no command module is evaluated but the one that runs.
 * @param loadCommand by id, `settings:api:set`
 */
export function createStaticPlugin(installation: Installation, loadCommand: LoadCommand): Plugin {
  const commands = Object.entries(readManifest(installation).commands).map(([id, command]) => ({
    ...command,
    load: async () => Object.assign(loadCommand(id), { id, plugin }),
  }))
  const plugin = assemble(installation, commands)
  const topics = plugin.pjson.oclif.topics as Record<string, object>
  plugin.topics.push(...Object.entries(topics).map(([name, topic]) => ({ name, ...topic })))
  return plugin
}

function readManifest(installation: Installation): Manifest {
  return JSON.parse(installation.readFile('oclif.manifest.json').toString())
}

/** The commands that help shows, such as `settings:api:set`. */
export function readCommandIds(installation: Installation): string[] {
  const { commands } = readManifest(installation)
  return Object.keys(commands).filter((id) => !commands[id]?.hidden)
}

/**
 * The same with one command only: for a line that runs it, oclif needs to know of no other, and the
 * manifest, a quarter of a megabyte, is not read.
 */
export function createSingleCommandPlugin(
  installation: Installation,
  id: string,
  command: Command.Class,
): Plugin {
  const { args, strict } = command
  const loadable = { id, args, strict, load: async () => Object.assign(command, { id, plugin }) }
  const plugin = assemble(installation, [loadable])
  return plugin
}

/** oclif would search the directory of a plugin for what this one already has. */
const nowhere = ''

function assemble(installation: Installation, commands: readonly Partial<Command.Loadable>[]): Plugin {
  const package_ = JSON.parse(installation.readFile('package.json').toString())
  const plugin = {
    _base: package_.name,
    alias: package_.name,
    name: package_.name,
    version: package_.version,
    type: 'core',
    moduleType: 'module',
    root: nowhere,
    pjson: package_,
    options: { root: nowhere },
    commands,
    commandIDs: commands.map(({ id }) => id),
    commandsDir: undefined,
    hasManifest: true,
    hooks: {},
    isRoot: true,
    valid: true,
    topics: [],
    tag: undefined,
    load: async () => {},
  }
  return plugin as unknown as Plugin
}

/** A message with its commands as the user types them: in a run of `npm start`, chatctl may not be installed. */
export function asTyped(text: string, { env, installation }: Pick<Host, 'env' | 'installation'>): string {
  const isNpmStart = env['npm_lifecycle_event'] === 'start' && env['npm_package_name'] === 'chatctl'
  if (!isNpmStart || !text.includes('chatctl ')) return text
  const names = readCommandIds(installation).map((id) => id.replace(/:.*/, ''))
  return text.replace(RegExp(`\\bchatctl (?=(?:${names.join('|')}|help)\\b|--|["'])`, 'g'), 'npm start -- ')
}
