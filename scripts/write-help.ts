import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Config } from '@oclif/core/config'
import { Help } from '@oclif/core/help'
import type { Plugin } from '@oclif/core/interfaces'
import { createStaticPlugin } from '../src/cli/static-plugin.ts'

/**
 * Writes what `--help` says of every command and topic into dist/help, for bin/run.js to print. The
 * build runs it with `OCLIF_COLUMNS=80 NO_COLOR=1`, which oclif reads when it is loaded.
 */

const root = resolve(import.meta.dirname, '..')
const folder = join(root, 'dist/help')
const plugin = createStaticPlugin(pathToFileURL(`${root}/`), () => {
  throw new Error('help is made from the manifest alone')
})

class WrittenHelp extends Help {
  text = ''
  protected override log(...lines: string[]): void {
    this.text += `${lines.join(' ')}\n`
  }
}

async function render(words: readonly string[]): Promise<string> {
  // oclif changes the names of the commands and topics that it has shown.
  const own: Plugin = {
    ...plugin,
    commands: plugin.commands.map((command) => ({ ...command })),
    topics: plugin.topics.map((topic) => ({ ...topic })),
  }
  const config = await Config.load({ root, plugins: new Map([[plugin.name, own]]) })
  const help = new WrittenHelp(config, config.pjson.oclif.helpOptions)
  await help.showHelp([...words, '--help'])
  return help.text.replace(`${config.platform}-${config.arch} node-${process.version}`, '{platform}')
}

mkdirSync(folder, { recursive: true })
const topics = plugin.commandIDs.flatMap((id) =>
  id.split(':').map((_, end, parts) => parts.slice(0, end + 1).join('.')),
)
for (const name of ['', ...new Set(topics)]) {
  const words = name.split('.').filter(Boolean)
  writeFileSync(join(folder, `${['chatctl', ...words].join('.')}.txt`), await render(words))
}
