import { stripControls } from '../strip-controls.ts'

/** The characters that are written as entities in answers; others stay as they are. */
const named: Record<string, string> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\u00a0',
  copy: '©',
  reg: '®',
  trade: '™',
  hellip: '…',
  mdash: '—',
  ndash: '–',
  lsquo: '‘',
  rsquo: '’',
  ldquo: '“',
  rdquo: '”',
  bull: '•',
  middot: '·',
  times: '×',
  deg: '°',
  rarr: '→',
  larr: '←',
  euro: '€',
}

/** Entities as their characters. A control character that hides in a number is dropped. */
export function decodeEntities(text: string): string {
  if (!text.includes('&')) return text
  return text.replace(
    /&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([a-z]{2,6}));/g,
    (whole, decimal?: string, hexadecimal?: string, name?: string) => {
      if (name !== undefined) return named[name] ?? whole
      const code = decimal === undefined ? Number.parseInt(hexadecimal ?? '', 16) : Number(decimal)
      const exists = code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff)
      return exists ? stripControls(String.fromCodePoint(code)) : '\ufffd'
    },
  )
}
