import { writeFileSync } from 'node:fs'
import { argument } from '../../cli/flags/flag-types.ts'
import { LocalCommand } from '../../cli/local-command.ts'
import { systemFailure } from '../../system/describe-system-error.ts'
import { makeSealKey } from '../../system/files/sealed-plan.ts'
import { sealKeyView } from '../../view/config.ts'

export default class ConfigSealKey extends LocalCommand {
  static override summary = 'Make a key for sealed plans'
  static override description =
    'Prints a new random key, or writes it to a new file with mode 0600 and prints the path. Anyone who has the key can read and make plans that are sealed with it. chatctl stores it nowhere else.'
  static override view = sealKeyView
  static override examples = LocalCommand.toExamples({
    'Write a key to a file': 'chatctl config seal-key seal.key',
    'Store a key in a shell variable': 'KEY="$(chatctl config seal-key)"',
  })
  static override args = { file: argument('New file for the key (default: stdout)') }

  async run(): Promise<void> {
    const { args, context } = await this.start(ConfigSealKey)
    const key = makeSealKey()
    if (args.file === undefined) return context.output.show(sealKeyView, { key, path: null })
    const path = context.resolvePath(args.file)
    try {
      // An existing key is never replaced: without it, its plans could not be read.
      writeFileSync(path, `${key}\n`, { mode: 0o600, flag: 'wx', flush: true })
    } catch (cause) {
      throw systemFailure(`Cannot write the seal key to ${path}`, cause)
    }
    await context.output.show(sealKeyView, { key: null, path })
  }
}
