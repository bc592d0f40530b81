import { Command } from '@oclif/core/command'
import { suggest } from '../cli/completion/suggest.ts'
import { writeData } from '../cli/output/streams.ts'

/** What the completion scripts ask: one candidate a line for the last of the words after `--`. */
export default class Complete extends Command {
  static override hidden = true
  static override strict = false
  static override summary = 'List the candidates for the last word of a command line.'

  async run(): Promise<void> {
    const words = this.argv[0] === '--' ? this.argv.slice(1) : this.argv
    const candidates = suggest(words, this.config.commands)
    if (candidates.length > 0) await writeData(`${candidates.join('\n')}\n`)
  }
}
