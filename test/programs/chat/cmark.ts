import { execFileSync } from 'node:child_process'

const extensions = ['table', 'strikethrough', 'tasklist']

/**
 * The visible text of Markdown as cmark-gfm reads it: one line for each line of text or code. HTML is text.
 * The address of a link or an image follows its text, unless that is the address or a click opens it. An
 * image without a text is its address.
 */
export function textByCmark(markdown: string): string {
  const options = ['-t', 'xml', ...extensions.flatMap((name) => ['-e', name])]
  const xml = execFileSync('cmark-gfm', options, { input: markdown, encoding: 'utf8' })
  let text = ''
  const open: { isImage: boolean; address: string; from: number }[] = []
  for (const [, end, name = '', attributes = '', isEmpty, literal = ''] of xml.matchAll(element)) {
    if (breaks.has(name)) text += '\n'
    if (literals.has(name) && !end) text += decode(literal)
    if (name !== 'link' && name !== 'image') continue
    const address = decode(/destination="([^"]*)"/.exec(attributes)?.[1] ?? '')
    if (!end) open.push({ isImage: name === 'image', address, from: text.length })
    const closed = end || isEmpty ? open.pop() : undefined
    // The text of an image is plain.
    if (closed && !open.some(({ isImage }) => isImage))
      text += describeAddress(closed, text.slice(closed.from))
  }
  return text
}

function describeAddress({ isImage, address }: { isImage: boolean; address: string }, text: string): string {
  if (isImage && text === '') return address
  const isClickable = /^(https?:\/\/|mailto:)/i.test(address)
  return isClickable || text === address ? '' : ` (${address})`
}

/** A tag, and the text up to the next one. */
const element = /<(\/?)(\w+)([^>]*?)(\/?)>([^<]*)/g
const literals = new Set(['text', 'code', 'code_block', 'html_inline', 'html_block'])
const breaks = new Set([
  ...['softbreak', 'linebreak', 'paragraph', 'heading', 'item', 'tasklist', 'block_quote'],
  ...['table_row', 'table_header', 'code_block', 'html_block'],
])

const characters: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"' }

function decode(text: string): string {
  return text.replace(/&(amp|lt|gt|quot);/g, (_, name: string) => characters[name] ?? '')
}
