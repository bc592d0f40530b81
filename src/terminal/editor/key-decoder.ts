import { startTimer } from '../../system/clock.ts'
import { readControl, readCsi, readReport, readSs3 } from './escape-sequence.ts'
import { cleanText } from './graphemes.ts'
import { chordOf, type Key, press, type Report, readSign } from './key.ts'

/** Milliseconds after which an ESC that nothing follows is the Escape key. A sequence arrives immediately. */
const escapeWait = 50

/**
 * Milliseconds after which an incomplete sequence is dropped, so that Alt+] does not block the keyboard, and
 * a paste without its end mark is taken as it is. Longer than `escapeWait`, because the end of a slow sequence
 * must not be typed as text.
 */
const sequenceWait = 500

/** Maximum length of a known sequence. */
const maxSequenceLength = 64

interface DecoderOptions {
  onKey(key: Key): void
  onReport?: ((report: Report) => void) | undefined
  /** Whether the terminal has a query to answer. Then an ESC is more likely its reply than a key. */
  awaitsReport?: (() => boolean) | undefined
  /** Starts a timer in ms, and returns a function that stops it. */
  startTimer?: (ms: number, run: () => void) => () => void
}

type State =
  | 'text'
  | 'escape'
  | 'csi'
  | 'linux-function-key'
  | 'mouse'
  | 'ss3'
  | 'control-string'
  | 'control-string-end'
  | 'paste'

/**
 * Decodes terminal input into keys, however it is split. Each sequence is read to its end by the grammar
 * of ECMA-48, also an unknown one, so that no part of it is typed as text.
 */
export class KeyDecoder {
  readonly #options: DecoderOptions
  #stopTimer: () => void = () => {}
  #state: State = 'text'
  /** Another ESC came before this one: the Escape key, or the Alt prefix of rxvt. */
  #twice = false
  #sequence = ''
  #mouseBytes = 0
  #paste = new PasteReader()
  /** Whether the last paste was taken before its end mark, so that its rest may still arrive. */
  #mayContinuePaste = false
  /** The first half of a surrogate pair. */
  #half = ''

  constructor(options: DecoderOptions) {
    this.#options = options
  }

  /** @param text terminal input, decoded from UTF-8 */
  push(text: string): void {
    if (text === '') return
    this.#stopTimer()
    let input = this.#half + text
    this.#half = /[\ud800-\udbff]$/.exec(input)?.[0] ?? ''
    if (this.#half) input = input.slice(0, -1)
    if (this.#state === 'paste' && isInterrupt(input)) this.#giveUp()
    // A key arrives alone. The rest of a paste must not be typed, because it may contain Enter.
    else if (this.#mayContinuePaste && this.#state === 'text') {
      if (moreThanKey.test(input)) this.#beginPaste()
      else this.#mayContinuePaste = input.startsWith('\u001b')
    }
    for (let at = 0; at < input.length; ) at = this.#take(input, at)
    this.#wait()
  }

  /** Ends the input. A pending ESC is Escape, and an unfinished paste is the text so far. */
  close(): void {
    this.#stopTimer()
    this.#half = ''
    this.#giveUp()
  }

  #wait(): void {
    if (this.#state === 'text') return
    // Only a terminal sends this, never a key.
    if (this.#state === 'csi' && this.#sequence.startsWith('?')) return
    const { awaitsReport, startTimer: start = startTimer } = this.#options
    const ms = this.#state === 'escape' && !awaitsReport?.() ? escapeWait : sequenceWait
    this.#stopTimer = start(ms, () => this.#giveUp())
  }

  #giveUp(): void {
    if (this.#state === 'paste') {
      this.#endPaste()
      this.#mayContinuePaste = true
    }
    if (this.#state === 'escape') this.#options.onKey(press('escape'))
    this.#flushEscape()
    this.#state = 'text'
  }

  #flushEscape(): void {
    if (this.#twice) this.#options.onKey(press('escape'))
    this.#twice = false
  }

  /** @returns the index up to which it has read */
  #take(input: string, at: number): number {
    switch (this.#state) {
      case 'text':
        return this.#takeText(input, at)
      case 'escape':
        return this.#takeEscaped(input, at)
      case 'paste':
        return this.#takePaste(input, at)
      case 'control-string':
        return this.#takeControlString(input, at)
      case 'control-string-end':
        this.#state = input[at] === '\\' ? 'text' : 'escape'
        return input[at] === '\\' ? at + 1 : at
      default:
        return this.#takeSequence(input, at)
    }
  }

  #takeText(input: string, at: number): number {
    printable.lastIndex = at
    const text = printable.exec(input)?.[0]
    if (text) {
      const whole = text.replace(halves, '')
      if (whole) this.#options.onKey({ type: 'text', text: whole })
      return at + text.length
    }
    const code = input.charCodeAt(at)
    const key = code === 0x1b ? undefined : readControl(code)
    if (code === 0x1b) this.#state = 'escape'
    else if (key) this.#options.onKey(key)
    return at + 1
  }

  #takeEscaped(input: string, at: number): number {
    const character = String.fromCodePoint(input.codePointAt(at) ?? 0)
    const next = at + character.length
    if (character === '\u001b') {
      this.#flushEscape()
      this.#twice = true
      return next
    }
    if (character === '[' || character === 'O') {
      this.#sequence = ''
      this.#state = character === '[' ? 'csi' : 'ss3'
      return next
    }
    this.#flushEscape()
    // OSC, DCS, SOS, PM and APC.
    if (/[\]PX^_]/.test(character)) {
      this.#state = 'control-string'
      return next
    }
    this.#state = 'text'
    const sign = readSign(character)
    const key = sign ? press(sign.name, { shift: sign.shift }) : readAltControl(character)
    if (key?.type === 'key') this.#options.onKey({ ...key, alt: true })
    return next
  }

  #takeSequence(input: string, at: number): number {
    const character = input.charAt(at)
    if (character < ' ' || (character > '~' && this.#state !== 'mouse')) {
      // Not part of a sequence, so the sequence is incomplete.
      this.#flushEscape()
      this.#state = 'text'
      return at
    }
    if (this.#state === 'linux-function-key' || (this.#state === 'mouse' && --this.#mouseBytes === 0)) {
      this.#endSequence(undefined)
    } else if (this.#state === 'csi' && this.#sequence === '' && character === '[') {
      this.#state = 'linux-function-key'
    } else if (this.#state === 'csi' && this.#sequence === '' && character === 'M') {
      // An X10 mouse report: three more arbitrary characters.
      this.#state = 'mouse'
      this.#mouseBytes = 3
    } else if (this.#state !== 'mouse') {
      this.#takeParameter(character)
    }
    return at + 1
  }

  #takeParameter(character: string): void {
    // rxvt ends Shift+Home with `$`, which is not a final character in ECMA-48.
    const shifted = character === '$' && /^\d{1,2}$/.test(this.#sequence)
    if (character >= '@' || shifted) {
      if (this.#sequence.length > maxSequenceLength) this.#endSequence(undefined)
      else if (this.#state === 'ss3') this.#endSequence(readSs3(this.#sequence, character))
      else if (this.#sequence === '200' && character === '~') this.#beginPaste()
      else this.#endSequence(readReport(this.#sequence, character) ?? readCsi(this.#sequence, character))
    } else if (this.#sequence.length <= maxSequenceLength) {
      this.#sequence += character
    }
  }

  #endSequence(read: Key | Report | undefined): void {
    this.#state = 'text'
    if (read?.type === 'key' && this.#twice) {
      this.#twice = false
      this.#options.onKey({ ...read, alt: true })
      return
    }
    this.#flushEscape()
    if (read?.type === 'report') this.#options.onReport?.(read)
    else if (read) this.#options.onKey(read)
  }

  #takeControlString(input: string, at: number): number {
    controlStringEnd.lastIndex = at
    const end = controlStringEnd.exec(input)
    if (!end) return input.length
    // Ctrl+C works even within a control string.
    const interrupted = end[0] === '\u0003'
    this.#state = end[0] === '\u001b' ? 'control-string-end' : 'text'
    return interrupted ? end.index : end.index + 1
  }

  #beginPaste(): void {
    this.#flushEscape()
    this.#mayContinuePaste = false
    this.#state = 'paste'
    this.#paste = new PasteReader()
  }

  #takePaste(input: string, at: number): number {
    const next = this.#paste.take(input, at)
    if (next !== undefined) this.#endPaste()
    return next ?? input.length
  }

  #endPaste(): void {
    const { text } = this.#paste
    this.#state = 'text'
    if (text) this.#options.onKey({ type: 'paste', text })
  }
}

/** Whether the input is Ctrl+C alone. Within more input, it is a part of the pasted text. */
function isInterrupt(input: string): boolean {
  const key = input === '\u0003' ? readControl(3) : readCsi(kittyKey.exec(input)?.[1] ?? '', 'u')
  return key?.type === 'key' && chordOf(key) === 'ctrl+c'
}

function readAltControl(character: string): Key | undefined {
  const code = character.charCodeAt(0)
  return code < 0x20 || code === 0x7f ? readControl(code) : undefined
}

// biome-ignore-start lint/suspicious/noControlCharactersInRegex: they are what is looked for
const printable = /[^\u0000-\u001f\u007f-\u009f]+/y
const controlStringEnd = /[\u0003\u0007\u0018\u001a\u001b\u009c]/g
const kittyKey = /^\u001b\[([\d;:]*)u$/
/** Several characters, the end mark, or a line end after a sequence that does not begin a paste. */
const moreThanKey = /^(?:[^\u001b]{2}|\u001b\[201~|\u001b(?!\[200~)[^\r\n]+[\r\n])/u
// biome-ignore-end lint/suspicious/noControlCharactersInRegex: they are what was looked for
/** Lone surrogates. */
const halves = /\p{Surrogate}/gu

const endMark = '\u001b[201~'

/** Collects a bracketed paste up to its end mark, in linear time however it is split. */
class PasteReader {
  readonly #pieces: string[] = []
  /** The last characters, which may be the beginning of the end mark. */
  #tail = ''

  /** @returns the index after the end mark; undefined before the end mark arrives */
  take(input: string, at: number): number | undefined {
    const text = this.#tail + input.slice(at)
    const end = text.indexOf(endMark)
    const length = end < 0 ? Math.max(0, text.length - endMark.length + 1) : end
    this.#pieces.push(text.slice(0, length))
    const next = end < 0 ? undefined : at - this.#tail.length + end + endMark.length
    this.#tail = end < 0 ? text.slice(length) : ''
    return next
  }

  /** The pasted text, without control characters. */
  get text(): string {
    return cleanText(this.#pieces.join('') + this.#tail)
  }
}
