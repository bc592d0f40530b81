import { BaseCommand } from '../cli/base-command.ts'
import { examine } from '../cli/examine.ts'
import { checksView } from '../view/config.ts'

export default class Doctor extends BaseCommand {
  static override summary = 'Check what chatctl needs, and say what to do about what is missing.'
  static override description = 'Exits with the code of the first check that failed.'
  static override examples = ['<%= config.bin %> doctor', '<%= config.bin %> doctor --profile work --json']
  protected override readonly standsBrokenConfiguration = true

  async run(): Promise<void> {
    const { context } = await this.start(Doctor, checksView)
    const { checks, exitCode } = await examine(context)
    await context.output.show(checksView, checks)
    process.exitCode = exitCode
  }
}
