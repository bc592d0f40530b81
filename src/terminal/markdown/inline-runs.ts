import { Lexer, type Token } from 'marked'
import { stripControls } from '../strip-controls.ts'
import { InlineText } from './inline-text.ts'
import type { Formatting, Mark, StyledText } from './text-style.ts'

/** Text without any of these needs no lexer. */
const special = /[\\`*_[<&~@]|:\/\/|www\./i

/**
 * Inline markdown as runs. If the terminal cannot show code or strikethrough, their delimiters stay in
 * the text, because they change its meaning.
 * @param text a whole paragraph, or a part that splits no construct; the time may grow with the square
 *   of its length
 * @param marks styles of the whole text
 */
export function inlineRuns(text: string, marks: readonly Mark[], formatting: Formatting): StyledText[] {
  if (!special.test(text)) return [{ text, marks }]
  const runs: StyledText[] = []
  add(new Lexer().inlineTokens(text), { marks }, formatting, runs)
  return runs
}

/** The same for a whole text, in linear time. */
export function inlineRunsOf(text: string, marks: readonly Mark[], formatting: Formatting): StyledText[] {
  const runs: StyledText[] = []
  const inline = new InlineText((piece) => runs.push(...inlineRuns(piece, marks, formatting)))
  inline.feed(text)
  inline.finish()
  return runs
}

type Surroundings = Omit<StyledText, 'text'>

function add(
  tokens: readonly Token[],
  around: Surroundings,
  formatting: Formatting,
  runs: StyledText[],
): void {
  for (const token of tokens) addToken(token, around, formatting, runs)
}

function addToken(token: Token, around: Surroundings, formatting: Formatting, runs: StyledText[]): void {
  const put = (text: string, marks = around.marks): number => runs.push({ ...around, text, marks })
  const inside = (mark: Mark, url = around.url): void => {
    const marks = [...around.marks, mark]
    add(childrenOf(token), url === undefined ? { marks } : { marks, url }, formatting, runs)
  }
  switch (token.type) {
    case 'text':
      put(decodeEntities(token.raw))
      break
    case 'escape':
      put(token.text)
      break
    case 'br':
      put('\n')
      break
    case 'strong':
      inside('bold')
      break
    case 'em':
      inside('italic')
      break
    case 'codespan':
      put(shows('cyan', formatting) ? token.text : `\`${token.text}\``, [...around.marks, 'cyan'])
      break
    case 'del': {
      // One tilde means "about" far more often than a deletion.
      const fence = token.raw.startsWith('~~') ? '~~' : '~'
      const isMark = fence === '~~' && shows('strike', formatting)
      if (!isMark) put(fence)
      if (fence === '~~') inside('strike')
      else add(childrenOf(token), around, formatting, runs)
      if (!isMark) put(fence)
      break
    }
    case 'link': {
      const url = clickable(token.href, formatting)
      inside('underline', url)
      const isAddress =
        token['autolink'] === true || [token.text, `http://${token.text}`].includes(token.href)
      if (!isAddress && (url === undefined || mayMislead(token.text))) put(` (${token.href})`)
      break
    }
    case 'image': {
      const url = clickable(token.href, formatting)
      const alternative = plainText(childrenOf(token))
      const text = alternative === '' ? token.href : alternative
      if (url === undefined) put(text)
      else runs.push({ marks: [...around.marks, 'underline'], text, url })
      if (alternative !== '' && (url === undefined || mayMislead(text))) put(` (${token.href})`)
      break
    }
    default:
      put(token.raw)
  }
}

/** The text of an image, in which links and images are only their texts. */
function plainText(tokens: readonly Token[]): string {
  return tokens
    .map((token) => {
      if (token.type === 'text') return decodeEntities(token.raw)
      if (token.type === 'br') return '\n'
      const children = childrenOf(token)
      return children.length > 0 || !('text' in token) ? plainText(children) : token.text
    })
    .join('')
}

function childrenOf(token: Token): readonly Token[] {
  return 'tokens' in token ? (token.tokens ?? []) : []
}

/** Whether the text of a link looks like another address, so that the terminal must show where it leads. */
function mayMislead(text: string): boolean {
  return /:\/\/|^www\./i.test(text)
}

/** Whether the terminal can show a style. */
function shows(mark: Mark, { style }: Formatting): boolean {
  return style[mark]('x') !== 'x'
}

/** The address in printable ASCII, as OSC 8 requires. Undefined for schemes that a click must not open. */
function clickable(href: string, { link }: Formatting): string | undefined {
  if (link === undefined || !/^(https?:\/\/|mailto:)/i.test(href)) return undefined
  return href.toWellFormed().replace(/[^\x21-\x7e]/gu, encodeURIComponent)
}

/** Entities that are common in replies. Others are shown unchanged. */
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

/** Decodes entities. A numeric entity of a control character is dropped. */
function decodeEntities(text: string): string {
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
