import { format } from 'node:util'
import { Help } from '@oclif/core/help'
import type { Config } from '@oclif/core/interfaces'
import { wantsColor } from './output/colours.ts'
import type { Streams } from './output/streams.ts'

/** Columns of what is no terminal, and the fewest that help is made for. */
const usualWidth = 80
const leastWidth = 40

/** Writes the help of a command or a topic, or of the program, to stdout. */
export async function showHelp(argv: string[], config: Config, streams: Streams): Promise<void> {
  const { stdout, env } = streams.host
  const help = new StreamedHelp(config as Help['config'], {
    ...config.pjson.oclif.helpOptions,
    maxWidth: widthOf(streams),
    stripAnsi: !wantsColor(stdout, env, argv.includes('--no-color')),
  })
  help.streams = streams
  await help.showHelp(argv)
}

class StreamedHelp extends Help {
  streams: Streams | undefined

  protected override log(...lines: string[]): void {
    this.streams?.host.stdout.write(`${format(...lines)}\n`)
  }
}

/** As oclif finds it. */
function widthOf({ host: { stdout, env }, isShown }: Streams): number {
  const asked = Number.parseInt(env['OCLIF_COLUMNS'] ?? '', 10)
  if (asked) return asked
  if (!isShown || stdout.columns < 1) return usualWidth
  return Math.max(leastWidth, stdout.columns)
}
