import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Command } from '@oclif/core/command'
import type { Plugin } from '@oclif/core/interfaces'

type Manifest = { commands: Record<string, Omit<Command.Loadable, 'load'>> }

/**
 * The commands as oclif's plugin loader would find them, but read from the manifest alone: no
 * directory is searched and no command module is evaluated but the one that runs.
 *
 * @param root file URL of the package's directory
 * @param loadCommand by id, `settings:api:set`
 */
export function createStaticPlugin(root: URL, loadCommand: (id: string) => Command.Class): Plugin {
  const manifest: Manifest = JSON.parse(readFileSync(new URL('oclif.manifest.json', root), 'utf8'))
  const commands = Object.entries(manifest.commands).map(([id, command]) => ({
    ...command,
    load: async () => Object.assign(loadCommand(id), { id, plugin }),
  }))
  const plugin = assemble(root, commands)
  const topics = plugin.pjson.oclif.topics as Record<string, object>
  plugin.topics.push(...Object.entries(topics).map(([name, topic]) => ({ name, ...topic })))
  return plugin
}

/**
 * The same with one command only: for a line that runs it, oclif needs to know of no other, and the
 * manifest, a quarter of a megabyte, is not read.
 */
export function createSingleCommandPlugin(root: URL, id: string, command: Command.Class): Plugin {
  const { args, strict } = command
  const loadable = { id, args, strict, load: async () => Object.assign(command, { id, plugin }) }
  const plugin = assemble(root, [loadable])
  return plugin
}

function assemble(root: URL, commands: readonly Partial<Command.Loadable>[]): Plugin {
  const directory = fileURLToPath(root)
  const package_ = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'))
  const plugin = {
    _base: package_.name,
    alias: package_.name,
    name: package_.name,
    version: package_.version,
    type: 'core',
    moduleType: 'module',
    root: directory,
    pjson: package_,
    options: { root: directory },
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
