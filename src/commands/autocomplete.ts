import * as Args from '@oclif/core/args'
import { BaseCommand } from '../cli/base-command.ts'
import { completionScripts, type Shell, shells } from '../cli/completion/completion-scripts.ts'
import { localWork } from '../cli/requests.ts'

export default class Autocomplete extends BaseCommand {
  static override summary = 'Print a completion script for your shell'
  static override description =
    'Completes commands, flags, and values such as profiles, sessions, settings, and models. Add the line for your shell to ~/.bashrc, ~/.zshrc, ~/.config/fish/config.fish, or $PROFILE, and open a new shell. For a faster start of zsh, save the script as _chatctl in a directory of $fpath.'
  static override requests = localWork
  static override examples = [
    { description: 'Bash', command: 'source <(chatctl autocomplete bash)' },
    { description: 'Zsh', command: 'source <(chatctl autocomplete zsh)' },
    { description: 'Fish', command: 'chatctl autocomplete fish | source' },
    {
      description: 'PowerShell',
      command: 'chatctl autocomplete powershell | Out-String | Invoke-Expression',
    },
  ]
  static override args = {
    shell: Args.string({
      description: 'bash, zsh, fish, or powershell',
      options: [...shells],
      required: true,
      ignoreStdin: true,
    }),
  }

  async run(): Promise<void> {
    // Without a context: what is wrong with the configuration must not show whenever a shell starts.
    const { args } = await this.parse(Autocomplete)
    await this.streams.writeData(completionScripts[args.shell as Shell])
  }
}
