import { Command } from '@oclif/core/command'
import type { Config } from '@oclif/core/interfaces'
import type { Streams } from './output/streams.ts'

/** A command that knows of its surroundings only what it is given, so that it can run many times in one process. */
export abstract class HostedCommand extends Command {
  readonly streams: Streams
  /** What the run ends with; undefined for 0 where all that was written has reached stdout. */
  protected exitCode: number | undefined

  constructor(argv: string[], config: Config, streams: Streams) {
    super(argv, config as Command['config'])
    this.streams = streams
  }

  /** @returns the exit code, as far as the command knows it */
  async execute(): Promise<number | undefined> {
    await this._run()
    return this.exitCode
  }
}

export type HostedCommandClass = new (
  ...given: [argv: string[], config: Config, streams: Streams]
) => HostedCommand
