import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Command } from '@oclif/core/command'
import type { Plugin } from '@oclif/core/interfaces'

type Manifest = { commands: Record<string, Omit<Command.Loadable, 'load'>> }

/**
 * The commands as oclif's plugin loader would find them, but read from the manifest alone: no
 * folder is searched and no command module is evaluated but the one that runs.
 *
 * @param root file URL of the package's folder
 * @param loadCommand by id, `settings:api:set`
 */
export function createStaticPlugin(root: URL, loadCommand: (id: string) => Command.Class): Plugin {
  const folder = fileURLToPath(root)
  const package_ = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'))
  const manifest: Manifest = JSON.parse(readFileSync(new URL('oclif.manifest.json', root), 'utf8'))
  const findCommand = async (id: string): Promise<Command.Class> =>
    Object.assign(loadCommand(id), { id, plugin })
  const commands = Object.entries(manifest.commands).map(([id, command]) => ({
    ...command,
    load: () => findCommand(id),
  }))
  const plugin = {
    _base: package_.name,
    alias: package_.name,
    name: package_.name,
    version: package_.version,
    type: 'core',
    moduleType: 'module',
    root: folder,
    pjson: package_,
    options: { root: folder },
    commands,
    commandIDs: Object.keys(manifest.commands),
    commandsDir: undefined,
    hasManifest: true,
    hooks: {},
    isRoot: true,
    valid: true,
    manifest,
    topics: Object.entries(package_.oclif.topics as Record<string, object>).map(([name, topic]) => ({
      name,
      ...topic,
    })),
    tag: undefined,
    findCommand,
    load: async () => {},
  }
  return plugin as unknown as Plugin
}
