/** A screen as `tmux capture-pane -e` gives it, `␛` for the escape character. */
export interface Screen {
  text: string
  columns: number
  /** Counted from the upper left corner, which is 0, 0. */
  cursor: { row: number; column: number }
}

/** Colors in hex. `colors` has the terminal colors by their SGR numbers. */
export interface Palette {
  ground: string
  frame: string
  text: string
  dim: string
  cursor: string
  colors: Readonly<Record<number, string>>
}

export const light: Palette = {
  ground: '#f6f8fa',
  frame: '#d1d9e0',
  text: '#1f2328',
  dim: '#59636e',
  cursor: '#59636e',
  colors: { 31: '#b5202b', 32: '#116329', 33: '#7a4700', 34: '#0550ae', 35: '#7a3fd1', 36: '#0b6b75' },
}

export const dark: Palette = {
  ground: '#151b23',
  frame: '#3d444d',
  text: '#e6edf3',
  dim: '#9198a1',
  cursor: '#9198a1',
  colors: { 31: '#ff7b72', 32: '#7ee787', 33: '#e3b341', 34: '#79c0ff', 35: '#d2a8ff', 36: '#76e3ea' },
}

/** In pixels. */
const cell = { width: 8.4, height: 20, font: 14 }
const padding = 20
const bar = 38

interface Run {
  text: string
  column: number
  style: Style
}

interface Style {
  bold: boolean
  dim: boolean
  italic: boolean
  underline: boolean
  /** 31 to 36. */
  color?: number | undefined
}

const plain: Style = { bold: false, dim: false, italic: false, underline: false }

/** Draws the screen in a window, as SVG. Each text has the width of its cells, whatever the font. */
export function drawTerminal({ text, columns, cursor }: Screen, palette: Palette, label: string): string {
  const rows = readRows(text)
  const width = Math.ceil(columns * cell.width + 2 * padding)
  const height = bar + rows.length * cell.height + padding
  const drawn = rows.flatMap((runs, row) => runs.flatMap((run) => drawRun(run, row, palette)))
  const { x, y } = corner(cursor.row, cursor.column)
  const dots = [0, 1, 2].map(
    (index) => `<circle cx="${22 + index * 20}" cy="19" r="6" fill="${palette.frame}"/>`,
  )
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escapeText(label)}">`,
    `<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="10" fill="${palette.ground}" stroke="${palette.frame}"/>`,
    ...dots,
    `<g font-family="ui-monospace, SFMono-Regular, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="${cell.font}" fill="${palette.text}" xml:space="preserve">`,
    ...drawn,
    `<rect x="${x}" y="${y + 2}" width="${cell.width}" height="${cell.height - 4}" fill="${palette.cursor}"/>`,
    '</g>',
    '</svg>',
    '',
  ].join('\n')
}

/** Adds the rules that replace the light colors with the dark ones if the reader prefers dark mode. */
export function addDarkMode(svg: string): string {
  const colorsOf = ({ colors, ...rest }: Palette) => [...Object.values(rest), ...Object.values(colors)]
  const darkColors = colorsOf(dark)
  const rules = colorsOf(light).map((color, index) => {
    const replacement = darkColors[index]
    return `[fill="${color}"]{fill:${replacement}}[stroke="${color}"]{stroke:${replacement}}`
  })
  const style = `<style>@media (prefers-color-scheme:dark){${rules.join('')}}</style>`
  return svg.replace('\n', `\n${style}\n`)
}

function corner(row: number, column: number): { x: number; y: number } {
  return { x: round(padding + column * cell.width), y: bar + row * cell.height }
}

function drawRun({ text, column, style }: Run, row: number, palette: Palette): string[] {
  const color = colorOf(style, palette)
  const words = drawWords(text, column, row, [
    color === palette.text ? '' : ` fill="${color}"`,
    style.bold ? ' font-weight="bold"' : '',
    style.italic ? ' font-style="italic"' : '',
    style.underline ? ' text-decoration="underline"' : '',
  ])
  return [...words, ...drawLines(text, column, row, color)]
}

function colorOf({ color, dim }: Style, palette: Palette): string {
  if (color === undefined) return dim ? palette.dim : palette.text
  const known = palette.colors[color]
  if (known === undefined) throw new Error(`the palette has no color ${color}`)
  return known
}

/** One `text` element per run of characters, with the width of its cells. */
function drawWords(text: string, column: number, row: number, attributes: readonly string[]): string[] {
  const stretches = text.matchAll(/[^\s─│┼](?: ?[^\s─│┼])*/g)
  return [...stretches].map(({ 0: words, index }) => {
    const { x, y } = corner(row, column + [...text.slice(0, index)].length)
    const length = round([...words].length * cell.width)
    const place = `x="${x}" y="${y + 14.5}" textLength="${length}" lengthAdjust="spacingAndGlyphs"`
    return `<text ${place}${attributes.join('')}>${escapeText(words)}</text>`
  })
}

/** Draws the lines of tables as paths, so that they meet in every font and row height. */
function drawLines(text: string, column: number, row: number, color: string): string[] {
  const parts = [...text].flatMap((character, index) => {
    const { x, y } = corner(row, column + index)
    const across = `M${x} ${y + cell.height / 2}h${cell.width}`
    const down = `M${round(x + cell.width / 2)} ${y}v${cell.height}`
    if (character === '─') return [across]
    if (character === '│') return [down]
    return character === '┼' ? [across, down] : []
  })
  return parts.length === 0 ? [] : [`<path d="${parts.join('')}" stroke="${color}" opacity="0.6"/>`]
}

/** Of the escape sequences, only SGR (ECMA-48 section 8.3.117) is supported. */
function readRows(text: string): Run[][] {
  let style = plain
  return text.split('\n').map((line) => {
    const runs: Run[] = []
    let column = 0
    for (const part of line.split(/(␛\[[\d;]*m)/)) {
      const codes = /^␛\[([\d;]*)m$/.exec(part)?.[1]
      if (codes !== undefined) style = codes.split(';').map(Number).reduce(applyCode, style)
      else if (part !== '') {
        runs.push({ text: part, column, style })
        column += [...part].length
      }
    }
    return runs
  })
}

function applyCode(style: Style, code: number): Style {
  if (code === 0) return plain
  if (code === 1) return { ...style, bold: true }
  if (code === 2) return { ...style, dim: true }
  if (code === 3) return { ...style, italic: true }
  if (code === 4) return { ...style, underline: true }
  if (code === 22) return { ...style, bold: false, dim: false }
  if (code === 39) return { ...style, color: undefined }
  if (code === 49) return style
  if (code >= 30 && code <= 37) return { ...style, color: code }
  throw new Error(`the picture knows no style ${code}`)
}

function round(pixels: number): number {
  return Math.round(pixels * 10) / 10
}

function escapeText(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
