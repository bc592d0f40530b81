import * as Args from '@oclif/core/args'
import { BaseCommand } from '../cli/base-command.ts'
import { completionScripts, type Shell, shells } from '../cli/completion/completion-scripts.ts'
import { writeData } from '../cli/output/streams.ts'
import { localWork } from '../cli/requests.ts'

export default class Autocomplete extends BaseCommand {
  static override summary = 'Print a script that completes chatctl in your shell.'
  static override description =
    'Tab then completes commands, flags and their values, among them your profiles, sessions, settings and the models of the service. Run the line of your shell below once, and open a new shell; that of PowerShell belongs into the file that $PROFILE names. The second one for zsh is for a folder that zsh searches, and starts faster.'
  static override requests = localWork
  static override examples = [
    "$ echo 'source <(<%= config.bin %> autocomplete bash)' >> ~/.bashrc",
    "$ echo 'source <(<%= config.bin %> autocomplete zsh)' >> ~/.zshrc",
    '<%= config.bin %> autocomplete zsh > "$fpath[1]/_chatctl"',
    '<%= config.bin %> autocomplete fish > ~/.config/fish/completions/chatctl.fish',
    '<%= config.bin %> autocomplete powershell | Out-String | Invoke-Expression',
  ]
  static override args = {
    shell: Args.string({
      description: 'Which shell.',
      options: [...shells],
      required: true,
      ignoreStdin: true,
    }),
  }

  async run(): Promise<void> {
    // Without a context: what is wrong with the configuration must not show whenever a shell starts.
    const { args } = await this.parse(Autocomplete)
    await writeData(completionScripts[args.shell as Shell])
  }
}
