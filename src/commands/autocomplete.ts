import * as Args from '@oclif/core/args'
import bash from '../cli/completion/scripts/chatctl.bash'
import fish from '../cli/completion/scripts/chatctl.fish'
import powershell from '../cli/completion/scripts/chatctl.ps1'
import zsh from '../cli/completion/scripts/chatctl.zsh'
import { LocalCommand } from '../cli/local-command.ts'

/** Each script passes the typed words to `chatctl complete`, and offers what it prints. */
const scripts = { bash, zsh, fish, powershell }

export default class Autocomplete extends LocalCommand {
  static override summary = 'Print a completion script for your shell'
  static override description =
    'Completes commands, flags, and values such as profiles, sessions, settings, and models. Add the line for your shell to ~/.bashrc, ~/.zshrc, ~/.config/fish/config.fish, or $PROFILE, and open a new shell. For a faster start of zsh, save the script as _chatctl in a directory of $fpath.'
  static override examples = LocalCommand.toExamples({
    Bash: 'source <(chatctl autocomplete bash)',
    Zsh: 'source <(chatctl autocomplete zsh)',
    Fish: 'chatctl autocomplete fish | source',
    PowerShell: 'chatctl autocomplete powershell | Out-String | Invoke-Expression',
  })
  static override args = {
    shell: Args.string({
      description: 'bash, zsh, fish, or powershell',
      options: Object.keys(scripts),
      required: true,
      ignoreStdin: true,
    }),
  }

  async run(): Promise<void> {
    // Without a context, because an invalid configuration must not print an error when a shell starts.
    const { args } = await this.parse(Autocomplete)
    await this.streams.writeData(scripts[args.shell as keyof typeof scripts])
  }
}
