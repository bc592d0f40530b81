import { endOfScalar, endOfString, skipSpace } from './json-text.ts'

/** What may come next, in the words of the fault. */
type Awaited =
  | 'a value'
  | 'a value or the end of the list'
  | 'a key in double quotes'
  | 'a key in double quotes or the end of the object'
  | 'a colon'
  | 'a comma or the end of the object'
  | 'a comma or the end of the list'
  | 'the end of the row'

/**
 * Where a text stops being JSON, and what should be there. The words of `JSON.parse` quote the
 * text, which may hold a password, and do not always say the place.
 */
export function findJsonBreak(text: string): { offset: number; message: string } {
  const nested: ('{' | '[')[] = []
  let awaited: Awaited = 'a value'
  let at = skipSpace(text, 0)
  const after = (): Awaited => {
    const around = nested.at(-1)
    if (around === undefined) return 'the end of the row'
    return around === '{' ? 'a comma or the end of the object' : 'a comma or the end of the list'
  }
  for (;;) {
    const character = text.charAt(at)
    const isLeaf = /^[^{}[\],:]/.test(character)
    let next = at + 1
    if (isClosing(character, nested.at(-1), awaited)) {
      nested.pop()
      awaited = after()
    } else if (character === ',' && awaited.startsWith('a comma')) {
      awaited = nested.at(-1) === '{' ? 'a key in double quotes' : 'a value'
    } else if (character === ':' && awaited === 'a colon') awaited = 'a value'
    else if ((character === '{' || character === '[') && awaited.startsWith('a value')) {
      nested.push(character)
      awaited =
        character === '{'
          ? 'a key in double quotes or the end of the object'
          : 'a value or the end of the list'
    } else if (
      isLeaf &&
      (awaited.startsWith('a value') || (awaited.startsWith('a key') && character === '"'))
    ) {
      next = endOfLeaf(text, at)
      if (next === -1) return { offset: at, message: 'broken JSON: this is no value' }
      awaited = awaited.startsWith('a key') ? 'a colon' : after()
    } else return { offset: at, message: `broken JSON: here should be ${awaited}` }
    at = skipSpace(text, next)
  }
}

function isClosing(character: string, around: '{' | '[' | undefined, awaited: Awaited): boolean {
  if (around === undefined || !awaited.includes(' the end of the ')) return false
  return character === (around === '{' ? '}' : ']')
}

/** Behind a text, a number or a word; -1 where it is none of JSON's. */
function endOfLeaf(text: string, at: number): number {
  const end = text.charAt(at) === '"' ? endOfString(text, at) : endOfScalar(text, at)
  if (end === -1) return -1
  try {
    JSON.parse(text.slice(at, end))
    return end
  } catch {
    return -1
  }
}
