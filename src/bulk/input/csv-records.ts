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
 * @param name of the input, for errors
 * @throws Failure `refused` for a record that is too large
 */
export function* csvRecords(given: string, name: string): Generator<CsvRecord> {
  const text = macHeader.test(given) ? given.replaceAll('\r', '\n') : given
  // Empty until the first line that is not blank.
  let separator = ''
  let line = 1
  let quote = text.indexOf('"')
  for (let at = 0; at < text.length; ) {
    const newline = text.indexOf('\n', at)
    const end = newline === -1 ? text.length : newline + 1
    if (quote !== -1 && quote < at) quote = text.indexOf('"', at)
    separator ||= separatorOf(text.slice(at, end))
    const scanned = quote !== -1 && quote < end ? scanQuoted(text, at, separator) : undefined
    const isScanned = scanned !== undefined && 'cells' in scanned
    const next = isScanned ? scanned.next : end
    if (Math.max(next, end) - at > maxRowLength) throw rowTooLarge(name, line)
    const raw = text.slice(at, isScanned ? scanned.end : lineEnd(text, at, end))
    if (scanned && !isScanned) {
      yield { line, raw, cells: [], separator, fault: { ...scanned, offset: scanned.offset - at } }
    } else {
      const cells = isScanned ? scanned.cells : raw.split(separator)
      if (cells.some((cell) => cell.trim() !== '')) yield { line, raw, cells, separator, fault: undefined }
    }
    line += isScanned ? countLines(text, at, next) : 1
    at = next
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

function scanQuoted(text: string, start: number, separator: string): Scanned | CsvFault {
  const cells: string[] = []
  const limit = start + maxRowLength
  let opened = start
  for (let at = start; ; ) {
    if (text.charAt(at) !== '"') {
      const end = endOfUnquoted(text, at, separator)
      const unquoted = text.slice(at, text.charAt(end) === separator ? end : lineEnd(text, at, end + 1))
      const quote = unquoted.indexOf('"')
      if (quote !== -1)
        return { offset: at + quote, message: 'unexpected quote: a field with a quote must begin with one' }
      cells.push(unquoted)
      at = end
    } else {
      opened = at
      const close = closingQuote(text, at)
      if (close === -1 || close >= limit) return { offset: at, message: notClosed }
      cells.push(text.slice(at + 1, close).replaceAll('""', '"'))
      at = close + 1
      if (text.charAt(at) === '\r' && (at + 1 === text.length || text.charAt(at + 1) === '\n')) at++
    }
    if (at >= text.length) return { end: lineEnd(text, start, text.length), next: text.length, cells }
    const character = text.charAt(at)
    if (character === '\n') return { end: lineEnd(text, start, at + 1), next: at + 1, cells }
    if (character !== separator) return faultAt(text, opened, at)
    at++
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
