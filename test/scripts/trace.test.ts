import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { traceToSources } from '../../scripts/trace.ts'
import { root } from './package-file.ts'

/** Line and column of a text, as in a stack trace. */
function placeOf(text: string, file: string): string {
  const before = readFileSync(join(root, file), 'latin1').split(text)[0]?.split('\n') ?? []
  return `${before.length}:${(before.at(-1)?.length ?? 0) + 1}`
}

const trace = (report: string): string => traceToSources(report, join(root, 'dist'))

describe('npm run trace', () => {
  // Bundles with changed names of modules, with characters that are not in Latin-1, and with one more line.
  for (const [bundle, source, text] of [
    ['main.cjs', 'src/cli/errors/render-error.ts', 'This is a bug in chatctl'],
    ['chat.cjs', 'src/cli/errors/render-error.ts', 'Run the command again with --debug'],
    ['talk.cjs', 'src/chat/slash/parameter-commands.ts', '--force'],
    ['service.cjs', 'src/service/http/public/status-page.ts', '<h1>'],
    ['start.cjs', 'src/boot/start.ts', '/proc/self/exe'],
  ] as const) {
    it(`names the line of the source: dist/${bundle}`, () => {
      const [line] = placeOf(text, source).split(':')
      const report = `Error: boom\n    at run (file:///opt/chatctl/dist/${bundle}:${placeOf(text, `dist/${bundle}`)})\n`
      const traced = trace(report)
      expect(traced).to.match(/^Error: boom\n {4}at run \(src\/.*:\d+:\d+\)\n$/)
      expect(traced).to.contain(`(${source}:${line}:`)
    })
  }

  it('reads paths of each system, and leaves other lines as they are', () => {
    const place = placeOf('This is a bug in chatctl', 'dist/main.cjs')
    const source = /^ {4}at src\/cli\/errors\/render-error\.ts:\d+:\d+$/
    expect(trace(`    at C:\\Programs\\chatctl\\dist\\main.cjs:${place}`)).to.match(source)
    expect(trace(`    at /usr/bin/chatctl/dist/main.cjs:${place}`)).to.match(source)
    const other = 'Hint: x\n    at emit (node:events:519:28)\n'
    expect(trace(`${'a'.repeat(2000)}\n${other}`)).to.equal(`…\n${other}`)
  })

  it('names the command that writes missing maps', () => {
    expect(() => traceToSources('at /x/dist/none.cjs:1:1', root)).to.throw('npm run build')
  })
})
