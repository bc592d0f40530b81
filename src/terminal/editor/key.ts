import type { TextBuffer } from './text-buffer.ts'

type CharacterOf<Text extends string> = Text extends `${infer First}${infer Rest}`
  ? First | CharacterOf<Rest>
  : never

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
  | CharacterOf<'_<>abcdefghijklmnopqrstuvwxyz'>

export interface Modifiers {
  ctrl: boolean
  alt: boolean
  shift: boolean
}

interface PressedKey extends Modifiers {
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
  if (/^[a-z]$/.test(lower)) return { name: lower as KeyName, shift: lower !== character }
  if (character === '_' || character === '<' || character === '>') return { name: character, shift: false }
  return undefined
}

/** Actions that involve more than the text buffer. */
interface EditorActions {
  submit(): boolean
  interrupt(): boolean
  endOrDelete(): boolean
  up(): boolean
  down(): boolean
  search(): boolean
  suspend(): boolean
  openExternalEditor(): boolean
  clearScreen(): boolean
}

/** The name of a key in the bindings, such as `ctrl+alt+shift+home`. */
export function chordOf(key: PressedKey): string {
  const chord = `${key.ctrl ? 'ctrl+' : ''}${key.alt ? 'alt+' : ''}${key.shift ? 'shift+' : ''}${key.name}`
  return synonyms[chord] ?? chord
}

/** Other keys for the same binding. Terminal shortcuts such as Ctrl+Shift+C are not included. */
const synonyms: Record<string, string> = {
  'ctrl+p': 'up',
  'ctrl+n': 'down',
  'shift+up': 'up',
  'shift+down': 'down',
  'shift+backspace': 'backspace',
  'ctrl+b': 'left',
  'shift+left': 'left',
  'ctrl+f': 'right',
  'shift+right': 'right',
  'ctrl+a': 'home',
  'shift+home': 'home',
  'ctrl+e': 'end',
  'shift+end': 'end',
  'alt+left': 'ctrl+left',
  'alt+b': 'ctrl+left',
  'alt+right': 'ctrl+right',
  'alt+f': 'ctrl+right',
  'alt+<': 'ctrl+home',
  'alt+>': 'ctrl+end',
  'ctrl+backspace': 'alt+backspace',
  'alt+delete': 'alt+d',
  'ctrl+delete': 'alt+d',
  'alt+enter': 'newline',
  'shift+enter': 'newline',
  'ctrl+enter': 'newline',
  'ctrl+j': 'newline',
  'ctrl+alt+j': 'newline',
  // Escape and Ctrl+C, pressed in quick succession, arrive as one key.
  'ctrl+alt+c': 'ctrl+c',
}

/** The action of each key. An action returns false if it had no effect. */
export function bindKeys(buffer: TextBuffer, actions: EditorActions): Record<string, () => boolean> {
  return {
    enter: actions.submit,
    newline: () => buffer.insert('\n'),
    backspace: () => buffer.deleteBack(),
    delete: () => buffer.deleteForward(),
    'alt+backspace': () => buffer.killWordBack(),
    'alt+d': () => buffer.killWordForward(),
    'ctrl+w': () => buffer.killBackToSpace(),
    'ctrl+u': () => buffer.killToLineStart(),
    'ctrl+k': () => buffer.killToLineEnd(),
    'ctrl+y': () => buffer.yank(),
    'ctrl+t': () => buffer.transpose(),
    'ctrl+_': () => buffer.undo(),
    left: () => buffer.moveTo(buffer.cursor - 1),
    right: () => buffer.moveTo(buffer.cursor + 1),
    'ctrl+left': () => buffer.moveWordLeft(),
    'ctrl+right': () => buffer.moveWordRight(),
    home: () => buffer.moveToLineStart(),
    end: () => buffer.moveToLineEnd(),
    'ctrl+home': () => buffer.moveTo(0) || true,
    'ctrl+end': () => buffer.moveTo(buffer.units.length) || true,
    up: actions.up,
    down: actions.down,
    'ctrl+c': actions.interrupt,
    'ctrl+d': actions.endOrDelete,
    'ctrl+r': actions.search,
    'ctrl+z': actions.suspend,
    'ctrl+g': actions.openExternalEditor,
    'ctrl+l': actions.clearScreen,
  }
}
