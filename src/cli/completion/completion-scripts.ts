export const shells = ['bash', 'zsh', 'fish', 'powershell'] as const
export type Shell = (typeof shells)[number]

/**
 * Each script hands the words so far to `chatctl complete` and offers the lines that come back, so
 * that all four know what one place knows.
 */
export const completionScripts: Record<Shell, string> = {
  bash: `_chatctl() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do COMPREPLY+=("$line"); done < <(chatctl complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _chatctl chatctl
`,
  zsh: `#compdef chatctl
_chatctl() {
  local -a candidates
  candidates=("\${(@f)$(chatctl complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  compadd -a candidates
}
compdef _chatctl chatctl
`,
  fish: `complete -c chatctl -f -a '(chatctl complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
`,
  powershell: `Register-ArgumentCompleter -Native -CommandName chatctl -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 | ForEach-Object { $_.ToString() })
  if ($wordToComplete -eq '') { $words += '' }
  chatctl complete -- @words 2>$null | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }
}
`,
}
