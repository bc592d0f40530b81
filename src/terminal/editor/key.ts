type Letter =
  | 'a'
  | 'b'
  | 'c'
  | 'd'
  | 'e'
  | 'f'
  | 'g'
  | 'h'
  | 'i'
  | 'j'
  | 'k'
  | 'l'
  | 'm'
  | 'n'
  | 'o'
  | 'p'
  | 'q'
  | 'r'
  | 's'
  | 't'
  | 'u'
  | 'v'
  | 'w'
  | 'x'
  | 'y'
  | 'z'

/** Letters and signs are keys only with ctrl or alt. Without, they are text. */
export type KeyName =
  | 'enter'
  | 'escape'
  | 'tab'
  | 'backspace'
  | 'delete'
  | 'left'
  | 'right'
  | 'up'
  | 'down'
  | 'home'
  | 'end'
  | 'page-up'
  | 'page-down'
  | '_'
  | '<'
  | '>'
  | Letter

export interface Modifiers {
  ctrl: boolean
  alt: boolean
  shift: boolean
}

export interface PressedKey extends Modifiers {
  type: 'key'
  name: KeyName
}

export type Key =
  /** One or more typed characters. */
  | { type: 'text'; text: string }
  /** A bracketed paste, with \n as line end and no other controls except \t. */
  | { type: 'paste'; text: string }
  | PressedKey

/** What a terminal reports by itself or in reply to a query. */
export interface Report {
  type: 'report'
  /**
   * `keyboard`: it supports the kitty keyboard protocol. `attributes`: it has replied to a query that every
   * terminal knows (DA1). `focus` and `blur`: its window is, or is no longer, in use.
   */
  name: 'keyboard' | 'attributes' | 'focus' | 'blur'
}

/** A key, without modifiers unless they are given. */
export function press(name: KeyName, modifiers: Partial<Modifiers> = {}): PressedKey {
  return { type: 'key', name, ctrl: false, alt: false, shift: false, ...modifiers }
}

/** The key for a character that is pressed with ctrl or alt. */
export function readSign(character: string): { name: KeyName; shift: boolean } | undefined {
  const lower = character.toLowerCase()
  if (/^[a-z]$/.test(lower)) return { name: lower as Letter, shift: lower !== character }
  if (character === '_' || character === '<' || character === '>') return { name: character, shift: false }
  return undefined
}
