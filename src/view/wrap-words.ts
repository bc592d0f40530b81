/**
 * Wraps lines between words. Long words, and commands with their arguments, are never split, so that
 * they can be copied. Not wrap-ansi, because every run would load it.
 *
 * @param indent columns before each continuation line
 */
export function wrapWords(text: string, width: number, indent = 0): string {
  return text
    .split('\n')
    .map((line) => (line.length <= width ? line : wrapLine(line, width, indent)))
    .join('\n')
}

function wrapLine(line: string, width: number, indent: number): string {
  // An indented command already is on a separate line.
  if (/^ +chatctl /.test(line)) return line
  const [, prose = line, command] = /^(.*?:) (chatctl .*)$/.exec(line) ?? []
  const [first = '', ...words] = prose.split(/(?<=\S) +/)
  const lines = [first]
  for (const word of words) {
    const last = lines.at(-1) ?? ''
    if (last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(' '.repeat(indent) + word)
  }
  if (command !== undefined) lines.push(`${' '.repeat(Math.max(2, indent))}${command}`)
  return lines.join('\n')
}
