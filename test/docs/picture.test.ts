import { readFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { resolve } from 'node:path'
import { expect } from 'chai'

const svg = readFileSync(resolve(import.meta.dirname, '../../docs/session.svg'), 'utf8')
/** The drawing, and its colors in light and dark mode by their attributes, such as `fill="#f6f8fa"`. */
const drawn = svg.replace(/<style>.*<\/style>/, '')
const rules = new Map(
  [...svg.matchAll(/\[((?:fill|stroke)="(#[0-9a-f]{6})")\]\{(?:fill|stroke):(#[0-9a-f]{6})\}/g)].map(
    ([, attribute = '', light = '', dark = '']) => [attribute, { light, dark }],
  ),
)
/** The color of the window, which is the first rectangle. */
const ground = /<rect [^>]*(fill="#[0-9a-f]{6}")/.exec(drawn)?.[1] ?? ''

describe('the picture of a session', () => {
  it('is well-formed and small', () => {
    expect(svg.length).to.be.below(60_000)
    expect(unclosed(svg)).to.deep.equal([])
    expect(svg).to.match(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" viewBox="0 0 \d+ \d+"/)
  })

  it('contains text and its label', () => {
    for (const words of ['chatctl chat', 'settings diff', '&gt; ', 'CREATE']) expect(svg).to.contain(words)
    expect(svg).to.match(/ role="img" aria-label="[^"]{20,}"/)
  })

  it('replaces each light color in dark mode', () => {
    expect(svg).to.contain('<style>@media (prefers-color-scheme:dark){')
    const used = new Set(drawn.match(/(?:fill|stroke)="[^"]*"/g))
    expect(used.size).to.be.above(5)
    expect([...rules.keys()]).to.include.members([...used])
  })

  for (const mode of ['light', 'dark'] as const)
    it(`has a text contrast of at least 4.5 (WCAG) in ${mode} mode`, () => {
      const colors = [...drawn.matchAll(/<(?:text|g) [^>]*?(fill="[^"]*")/g)].map(([, fill = '']) => fill)
      expect(new Set(colors).size).to.be.above(4)
      for (const fill of colors) {
        const [color = '', behind = ''] = [fill, ground].map((attribute) => rules.get(attribute)?.[mode])
        expect(contrast(color, behind), `${fill} on ${ground}`).to.be.at.least(4.5)
      }
    })

  it('shows nothing about the machine that drew it', () => {
    const { username, homedir } = userInfo()
    expect(svg).not.to.match(/\/(tmp|home|root|Users|var)\b/)
    expect(svg).not.to.contain(homedir)
    if (username !== 'root') expect(svg).not.to.contain(username)
    const hosts = [...svg.matchAll(/https?:\/\/([^/"\s<]+)/g)].map(([, host]) => host)
    expect(new Set(hosts)).to.deep.equal(new Set(['www.w3.org', '127.0.0.1:8787']))
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
