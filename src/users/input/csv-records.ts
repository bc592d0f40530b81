import { maxRowLength, rowTooLarge } from './input-row.ts'

export interface CsvRecord {
  line: number
  /** Its source text, without the line break. */
  raw: string
  cells: string[]
  /** Between the cells, in all records of a file. */
  separator: string
  /** A fault of its quotes. */
  fault: CsvFault | undefined
}

interface CsvFault {
  /** In `raw`. */
  offset: number
  message: string
}

interface Scanned {
  /** The offset of the end of the record. */
  end: number
  /** The offset of the next record. */
  next: number
  cells: string[]
}

const notClosed = 'unclosed quote'

/** A header line that ends with CR, as old programs of macOS write it. */
const macHeader = /^[^\r\n]*\r[^\n]/

/**
 * Splits CSV (RFC 4180) into records. A record with invalid quotes ends with its first line, so that the other
 * rows can still be read. Blank lines and records of blank cells are ignored. As spreadsheets write it in some
 * countries, the separator may be a semicolon or a tab: see `separatorOf`.
 */
export class CsvRecords {
  readonly #name: string
  #text = ''
  #line = 1
  /** Empty until the first line that is not blank. */
  #separator = ''
  #isMac = false

  /** @param name of the input, for errors */
  constructor(name: string) {
    this.#name = name
  }

  /**
   * @param isLast whether the text is the end of the input
   * @throws Failure `refused` for a record that is too large
   */
  take(text: string, isLast: boolean): CsvRecord[] {
    let all = this.#text + text
    if (this.#separator === '') this.#isMac ||= macHeader.test(all)
    if (this.#isMac) all = all.replaceAll('\r', '\n')
    const records: CsvRecord[] = []
    const add = (record: Omit<CsvRecord, 'separator'>): void => {
      if (record.fault === undefined && record.cells.every((cell) => cell.trim() === '')) return
      records.push({ ...record, separator: this.#separator })
    }
    let at = 0
    let quote = all.indexOf('"')
    while (at < all.length) {
      const newline = all.indexOf('\n', at)
      const next = newline === -1 ? all.length : newline + 1
      if (next - at > maxRowLength) throw rowTooLarge(this.#name, this.#line)
      if (newline === -1 && !isLast) break
      if (quote !== -1 && quote < at) quote = all.indexOf('"', at)
      const isQuoted = quote !== -1 && quote < next
      this.#separator ||= separatorOf(all.slice(at, next))
      const scanned = isQuoted ? scanQuoted(all, at, isLast, this.#separator) : undefined
      const known = scanned === 'more' ? all.length : scanned && 'cells' in scanned ? scanned.next : at
      if (known - at > maxRowLength) throw rowTooLarge(this.#name, this.#line)
      if (scanned === 'more') break
      const line = this.#line
      if (scanned && 'cells' in scanned) {
        const raw = all.slice(at, scanned.end)
        add({ line, raw, cells: scanned.cells, fault: undefined })
        this.#line += countLines(all, at, scanned.next)
        at = scanned.next
        continue
      }
      const raw = all.slice(at, lineEnd(all, at, next))
      if (scanned) {
        add({ line, raw, cells: [], fault: { ...scanned, offset: scanned.offset - at } })
      } else add({ line, raw, cells: raw.split(this.#separator), fault: undefined })
      this.#line++
      at = next
    }
    this.#text = all.slice(at)
    return records
  }
}

/** The first separator that the first line contains outside quotes, a comma before others; empty if it is blank. */
function separatorOf(line: string): string {
  if (line.trim() === '') return ''
  const names = line.replace(/"[^"]*"?/g, '')
  return [',', ';', '\t'].find((separator) => names.includes(separator)) ?? ','
}

/** The end of a line without its line break. */
function lineEnd(text: string, start: number, next: number): number {
  let end = Math.min(next, text.length)
  if (end > start && text.charAt(end - 1) === '\n') end--
  if (end > start && text.charAt(end - 1) === '\r') end--
  return end
}

/** @returns `more` if the record may continue in text that has not been read yet */
function scanQuoted(
  text: string,
  start: number,
  isLast: boolean,
  separator: string,
): Scanned | CsvFault | 'more' {
  const cells: string[] = []
  const limit = start + maxRowLength
  let opened = start
  for (let at = start; ; ) {
    if (text.charAt(at) !== '"') {
      const end = endOfUnquoted(text, at, separator)
      if (end === text.length && !isLast) return 'more'
      const unquoted = text.slice(at, text.charAt(end) === separator ? end : lineEnd(text, at, end + 1))
      const quote = unquoted.indexOf('"')
      if (quote !== -1)
        return { offset: at + quote, message: 'unexpected quote: a field with a quote must begin with one' }
      cells.push(unquoted)
      at = end
    } else {
      opened = at
      const close = closingQuote(text, at)
      if (close === -1 || close >= limit) {
        const isOver = isLast || text.length > limit
        return isOver ? { offset: at, message: notClosed } : 'more'
      }
      // The next characters show whether the quote closes the field, and a line break may have two.
      if (close + 2 >= text.length && !isLast) return 'more'
      cells.push(text.slice(at + 1, close).replaceAll('""', '"'))
      at = close + 1
      if (text.charAt(at) === '\r' && (at + 1 === text.length || text.charAt(at + 1) === '\n')) at++
    }
    if (at >= text.length) return { end: lineEnd(text, start, text.length), next: text.length, cells }
    const character = text.charAt(at)
    if (character === '\n') return { end: lineEnd(text, start, at + 1), next: at + 1, cells }
    if (character !== separator) return faultAt(text, opened, at)
    at++
    if (at === text.length && !isLast) return 'more'
  }
}

/** If the field continues on another line, the opening quote is probably the one without a partner. */
function faultAt(text: string, opened: number, at: number): CsvFault {
  const newline = text.indexOf('\n', opened)
  if (newline !== -1 && newline < at) return { offset: opened, message: notClosed }
  return { offset: at, message: 'unexpected text after the closing quote' }
}

/** The offset of the closing quote. A doubled quote is a literal quote. */
function closingQuote(text: string, open: number): number {
  for (let at = open + 1; ; at += 2) {
    at = text.indexOf('"', at)
    if (at === -1 || text.charAt(at + 1) !== '"') return at
  }
}

function endOfUnquoted(text: string, start: number, separator: string): number {
  for (let at = start; at < text.length; at++) {
    const character = text.charAt(at)
    if (character === separator || character === '\n') return at
  }
  return text.length
}

function countLines(text: string, start: number, end: number): number {
  let count = 0
  for (let at = text.indexOf('\n', start); at !== -1 && at < end; at = text.indexOf('\n', at + 1)) count++
  return count
}
