import { type Key, type KeyName, type Modifiers, press, type Report, readSign } from './key.ts'

/**
 * Decodes complete key sequences: those of xterm (ctlseqs: PC-style function keys, modifyOtherKeys), of
 * rxvt and the Linux console, and of the kitty keyboard protocol (CSI u). Sequences that have no meaning
 * here are undefined.
 */

const byLetter: Record<string, KeyName> = {
  A: 'up',
  B: 'down',
  C: 'right',
  D: 'left',
  H: 'home',
  F: 'end',
}

const byNumber: Record<number, KeyName> = {
  1: 'home',
  3: 'delete',
  4: 'end',
  7: 'home',
  8: 'end',
}

/** Keys that CSI u identifies by code point: C0 controls, and the keypad in the private use area. */
const byCode: Record<number, KeyName> = {
  8: 'backspace',
  9: 'tab',
  13: 'enter',
  27: 'escape',
  127: 'backspace',
  57414: 'enter',
  57417: 'left',
  57418: 'right',
  57419: 'up',
  57420: 'down',
  57423: 'home',
  57424: 'end',
  57426: 'delete',
}

/** Text keys of the keypad: in CSI u from code 57399, and after SS3 from the letter j. */
const keypadCodes = '0123456789./*-+'
const keypadLetters = '*+,-./0123456789'

/** Keys for which ctrl sends the same byte as another key. */
const sameAsWithCtrl: Record<string, KeyName> = {
  m: 'enter',
  i: 'tab',
  h: 'backspace',
  '[': 'escape',
  '/': '_',
}

/** @param code of a C0 control or DEL */
export function readControl(code: number): Key | undefined {
  if (code === 0x0d) return press('enter')
  if (code === 0x09) return press('tab')
  if (code === 0x7f || code === 0x08) return press('backspace')
  if (code === 0x1b) return press('escape')
  if (code === 0x1f) return press('_', { ctrl: true })
  const sign = readSign(String.fromCharCode(code + 0x60))
  return sign && press(sign.name, { ctrl: true })
}

/** @param parameters the characters between `ESC [` and the final character */
export function readCsi(parameters: string, final: string): Key | undefined {
  if (!/^[\d;:]*$/.test(parameters)) return undefined
  const fields = parameters.split(';').map((field) => field.split(':').map(Number))
  const number = (field: number, sub = 0): number => fields[field]?.[sub] || 1
  if (number(1, 1) === released) return undefined
  if (final === '~') {
    if (number(0) === 27 && fields.length === 3) return readCode([number(2)], number(1), '')
    return named(byNumber[number(0)], readModifiers(number(1)))
  }
  if (final === 'u') {
    return readCode(fields[0] ?? [], number(1), (fields[2] ?? []).map(characterOf).join(''))
  }
  if (final === 'Z') return press('tab', { shift: true })
  // rxvt encodes modifiers in the final character.
  if (final === '$') return named(byNumber[number(0)], { shift: true })
  if (final === '^') return named(byNumber[number(0)], { ctrl: true })
  if (final === '@') return named(byNumber[number(0)], { ctrl: true, shift: true })
  if (/[a-d]/.test(final)) return named(byLetter[final.toUpperCase()], { shift: true })
  return named(byLetter[final], readModifiers(fields.length > 1 ? number(1) : number(0)))
}

/** The same for a sequence that no key sends. Undefined for any other. */
export function readReport(parameters: string, final: string): Report | undefined {
  const name = parameters === '' ? focusReports[final] : /^\?[\d;]*$/.test(parameters) && replies[final]
  return name ? { type: 'report', name } : undefined
}

const focusReports: Record<string, Report['name']> = { I: 'focus', O: 'blur' }
const replies: Record<string, Report['name']> = { u: 'keyboard', c: 'attributes' }

/** @param parameters the characters between `ESC O` and the final character */
export function readSs3(parameters: string, final: string): Key | undefined {
  if (final === 'M') return press('enter')
  const keypad = keypadLetters[final.charCodeAt(0) - 'j'.charCodeAt(0)]
  if (keypad !== undefined) return { type: 'text', text: keypad }
  if (/[a-d]/.test(final)) return named(byLetter[final.toUpperCase()], { ctrl: true })
  return named(byLetter[final], readModifiers(Number(parameters.split(';').at(-1)) || 1))
}

const released = 3

/** @param codes code points of the key: without shift, with shift, and on a US keyboard; the last two are optional */
function readCode(codes: readonly number[], modifierCode: number, text: string): Key | undefined {
  const [code = 0, shifted, onUsKeyboard] = codes
  const modifiers = readModifiers(modifierCode)
  if (!modifiers) return undefined
  const name = byCode[code]
  if (name) return press(name, modifiers)
  if (modifiers.ctrl || modifiers.alt) return readChord(code, onUsKeyboard, modifiers)
  if (text) return { type: 'text', text }
  const keypad = keypadCodes[code - 57399]
  if (keypad !== undefined) return { type: 'text', text: keypad }
  const character = modifiers.shift
    ? characterOf(shifted) || characterOf(code).toUpperCase()
    : characterOf(code)
  return character ? { type: 'text', text: character } : undefined
}

function readChord(code: number, onUsKeyboard: number | undefined, modifiers: Modifiers): Key | undefined {
  const typed = characterOf(code)
  // On a Cyrillic keyboard, Ctrl+C is the key that has C on a US keyboard.
  const character = readSign(typed) ? typed : characterOf(onUsKeyboard) || typed
  const same = modifiers.ctrl ? sameAsWithCtrl[character] : undefined
  if (same) return press(same, { ...modifiers, ctrl: same === '_' })
  if (modifiers.ctrl && character === '-' && modifiers.shift) return press('_', { ctrl: true })
  const sign = readSign(character)
  return sign && press(sign.name, { ...modifiers, shift: modifiers.shift || sign.shift })
}

/** The character of a code point; empty for codes that are not printable characters. */
function characterOf(code: number | undefined): string {
  if (!code || code > 0x10ffff) return ''
  const character = String.fromCodePoint(code)
  return /[\p{Control}\p{Surrogate}\p{Private_Use}]/u.test(character) ? '' : character
}

/** The bits of `code - 1` are shift, alt, ctrl, super, hyper, meta, caps lock, and num lock. */
function readModifiers(code: number): Modifiers | undefined {
  const bits = code - 1
  // Keys with super or hyper are shortcuts of the desktop.
  if (bits & 0b1_1000) return undefined
  return { shift: Boolean(bits & 1), alt: Boolean(bits & 0b10_0010), ctrl: Boolean(bits & 4) }
}

function named(name: KeyName | undefined, modifiers: Partial<Modifiers> | undefined): Key | undefined {
  return name && modifiers && press(name, modifiers)
}
