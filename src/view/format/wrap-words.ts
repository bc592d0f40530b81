/** A command or a flag at the end of a line, which users copy. */
const trailingCommand = /^(?!Error: (?:-|chatctl ))(.*?:) ((?:chatctl|export|--[a-z-]+) .*)$/

/** Between two sentences that end with a command. */
const betweenCommands = /(?<=: chatctl [^:]+)\. (?=[A-Z][^:"]*: chatctl )/g

/**
 * Breaks lines between words, because a terminal breaks them within words. A word that is longer than a
 * line, and a command with its arguments, is never broken, so that users can copy it. wrap-ansi breaks
 * between words too, but every run would have to load it.
 * @param text without color codes
 * @param indent columns before each continued line
 */
export function wrapWords(text: string, width: number, indent = 0): string {
  return text
    .split('\n')
    .map((line) => (line.length <= width ? line : line.replace(betweenCommands, `\n${' '.repeat(indent)}`)))
    .flatMap((lines) => lines.split('\n'))
    .map((line) => (line.length <= width ? line : wrapLine(line, width, indent)))
    .join('\n')
}

function wrapLine(line: string, width: number, indent: number): string {
  // An indented command is already on a separate line.
  if (/^ +chatctl /.test(line)) return line
  const [, prose = line, command] = trailingCommand.exec(line) ?? []
  const [first = '', ...words] = prose.split(/(?<=\S) (?=\S)/)
  const lines = [first]
  for (const word of words) {
    const last = lines.at(-1) ?? ''
    if (last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(' '.repeat(indent) + word)
  }
  if (command !== undefined) lines.push(`${' '.repeat(Math.max(2, indent))}${command}`)
  return lines.join('\n')
}
