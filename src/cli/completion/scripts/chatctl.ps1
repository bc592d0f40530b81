# Completion of chatctl for PowerShell 5 and later.
Register-ArgumentCompleter -Native -CommandName chatctl -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $before = @($commandAst.CommandElements | Select-Object -Skip 1 |
    Where-Object { $_.Extent.EndOffset -lt $cursorPosition } |
    ForEach-Object { if ($null -ne $_.Value) { "$($_.Value)" } else { $_.Extent.Text } })
  # The word at the cursor may begin with an open quote. PowerShell does not pass an empty argument.
  $word = $wordToComplete -replace '^["'']', ''
  $next = if ($word -eq '') { @('--next', '--') + $before } else { @('--') + $before + $word }
  $lines = @(chatctl complete --shell=powershell @next 2>$null)
  foreach ($line in ($lines | Select-Object -Skip 1)) {
    $text, $name, $tip = $line -split "`t"
    [System.Management.Automation.CompletionResult]::new($text, $name, 'ParameterValue', $tip)
  }
  # With no result at all PowerShell offers files.
  if ($lines.Count -eq 1 -and $lines[0] -eq 'words') { '' }
}
