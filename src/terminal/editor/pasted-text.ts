/** Follows each pasted `@` and `/`, and the first word of a paste. An unused variation selector: it is invisible. */
const mark = '\u{e01ef}'

/** Marks a text as not typed. */
export function markPasted(text: string): string {
  return text.replace(/^\s*\S+/, `$&${mark}`).replace(/[@/]/g, `$&${mark}`)
}

/** The text without marks. */
export function plainText(text: string): string {
  return text.replaceAll(mark, '')
}

/** The text with a line break for each word that was not typed as a whole. */
export function typedPart(text: string): string {
  return text.replace(/\S+/g, (word) => (word.includes(mark) ? '\n' : word))
}

/** Marks the words of an edited text that were marked before, and the new ones if others were: they may be in parts. */
export function markAgain(edited: string, before: string): string {
  const words = new Map((before.match(/\S+/g) ?? []).map((word) => [plainText(word), word]))
  const isMarked = before.includes(mark)
  return edited.replace(/\S+/g, (word) => words.get(word) ?? (isMarked ? markPasted(word) : word))
}
