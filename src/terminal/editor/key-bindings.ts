import type { PressedKey } from './key.ts'
import type { TextBuffer } from './text-buffer.ts'

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
