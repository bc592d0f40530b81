import wrapAnsi from 'wrap-ansi'

/** A command at the end of a line: it must stay in one piece, so that it can be pasted. */
const command = /^(.*?:) ((?:chatctl|export|--[a-z-]+) .*)$/s

/** Wraps text between words for a terminal. A command that does not fit is put on a line by itself. */
export function wrapLines(text: string, columns: number): string {
  return text
    .split('\n')
    .flatMap((line) => {
      const wrapped = wrapAnsi(line, columns)
      const [, words, last] = command.exec(line) ?? []
      if (wrapped === line || words === undefined || last === undefined) return [wrapped]
      return [wrapAnsi(words, columns), last]
    })
    .join('\n')
}
