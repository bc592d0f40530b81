import { readFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { resolve } from 'node:path'
import { expect } from 'chai'
import { dark, drawTerminal, light, type Palette } from '../../scripts/terminal-picture.ts'

const svg = readFileSync(resolve(import.meta.dirname, '../../docs/session.svg'), 'utf8')
const palettes: [string, Palette][] = [
  ['light', light],
  ['dark', dark],
]
const colorsOf = ({ colors, ...rest }: Palette): string[] => [
  ...Object.values(rest),
  ...Object.values(colors),
]

const hint = 'Run: npm run picture'

describe('the picture of a session', () => {
  it('is well-formed and small', () => {
    expect(svg.length).to.be.below(60_000)
    expect(unclosed(svg)).to.deep.equal([])
    expect(svg).to.match(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" viewBox="0 0 \d+ \d+"/)
  })

  it('contains text, its label, and only colors of its palettes', () => {
    for (const words of ['chatctl chat', 'settings diff', '&gt; ', 'CREATE']) expect(svg).to.contain(words)
    const known = [...colorsOf(light), ...colorsOf(dark)]
    for (const [color] of svg.matchAll(/#[0-9a-f]{6}\b/g)) expect(known, hint).to.include(color)
  })

  it('replaces each light color in dark mode', () => {
    const [, rules = ''] = /<style>@media \(prefers-color-scheme:dark\)\{(.*)\}<\/style>/.exec(svg) ?? []
    const drawn = svg.replace(/<style>.*<\/style>/, '')
    const used = new Set(
      [...drawn.matchAll(/(?:fill|stroke)="#[0-9a-f]{6}"/g)].map(([attribute]) => attribute),
    )
    expect(used.size).to.be.above(5)
    for (const attribute of used) {
      const [, property, color = ''] = /(\w+)="(.*)"/.exec(attribute) ?? []
      const replacement = colorsOf(dark)[colorsOf(light).indexOf(color)]
      expect(rules, hint).to.contain(`[${attribute}]{${property}:${replacement}}`)
    }
  })

  for (const [name, palette] of palettes) {
    it(`has a text contrast of at least 4.5 (WCAG) in ${name} mode`, () => {
      for (const color of [palette.text, palette.dim, ...Object.values(palette.colors)]) {
        expect(contrast(color, palette.ground), color).to.be.at.least(4.5)
      }
    })
  }

  it('shows nothing about the machine that drew it', () => {
    const { username, homedir } = userInfo()
    expect(svg).not.to.match(/\/(tmp|home|root|Users|var)\b/)
    expect(svg).not.to.contain(homedir)
    if (username !== 'root') expect(svg).not.to.contain(username)
    const hosts = [...svg.matchAll(/https?:\/\/([^/"\s<]+)/g)].map(([, host]) => host)
    expect(new Set(hosts)).to.deep.equal(new Set(['www.w3.org', '127.0.0.1:8787']))
  })

  it('draws each run of text in its cells', () => {
    const text = '␛[1mab␛[0m <c>\n␛[2m─┼─␛[39m␛[35m d'
    const svg = drawTerminal({ text, columns: 10, cursor: { row: 1, column: 4 } }, light, 'a "label"')
    expect(unclosed(svg)).to.deep.equal([])
    expect(svg).to.contain('aria-label="a &quot;label&quot;"')
    expect(svg).to.match(/<text x="20" y="52.5" textLength="16.8" [^>]*font-weight="bold">ab<\/text>/)
    expect(svg).to.match(/<text x="45.2" [^>]*>&lt;c&gt;<\/text>/)
    expect(svg).to.match(/<path d="M20 68h8.4M28.4 68h8.4M32.6 58v20M36.8 68h8.4"/)
    expect(svg).to.match(/<text [^>]*fill="#7a3fd1"[^>]*>d<\/text>/)
    expect(() =>
      drawTerminal({ text: '␛[7mx', columns: 2, cursor: { row: 0, column: 0 } }, light, ''),
    ).to.throw()
  })
})

/** The elements of an XML text that are not closed correctly, and unescaped characters. */
function unclosed(xml: string): string[] {
  const open: string[] = []
  for (const [, end, name = '', alone] of xml.matchAll(/<(\/?)(\w+)(?: [\w:-]+="[^"<]*")*(\/?)>/g)) {
    if (end && open.pop() !== name) return [`</${name}>`]
    if (!end && !alone) open.push(name)
  }
  const rest = xml.replace(/<\/?\w+(?: [\w:-]+="[^"<]*")*\/?>/g, '').match(/[<>]|&(?!(amp|lt|gt|quot);)/)
  return rest ? [...open, rest[0]] : open
}

/** WCAG 2, "contrast ratio". */
function contrast(one: string, other: string): number {
  const [low = 0, high = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (high + 0.05) / (low + 0.05)
}

function luminance(color: string): number {
  const parts = [1, 3, 5].map((index) => Number.parseInt(color.slice(index, index + 2), 16) / 255)
  const [red = 0, green = 0, blue = 0] = parts.map((part) =>
    part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4,
  )
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
