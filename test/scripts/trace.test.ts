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

const trace = (report: string, maps = join(root, 'dist')): string => traceToSources(report, maps)

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
    const paths = ['C:\\Programs\\chatctl\\dist\\main.cjs', '/usr/bin/chatctl/dist/main.cjs']
    const report = paths.map((path) => `    at ${path}:${place}`).join('\n')
    for (const line of trace(report).split('\n')) expect(line).to.match(source)
    const other = 'Hint: x\n    at emit (node:events:519:28)\n'
    expect(trace(`${'a'.repeat(2000)}\n${other}`)).to.equal(`…\n${other}`)
  })

  it('reads a line of a log, which may contain a place and be long', () => {
    const place = placeOf('This is a bug in chatctl', 'dist/main.cjs')
    const log = (stack: string) =>
      JSON.stringify({ body: 'a'.repeat(2000), stack: `Error: x\n    at ${stack}` })
    const paths = ['/opt/chatctl/dist/main.cjs', 'C:\\chatctl\\dist\\main.cjs']
    const report = paths.map((path) => log(`run (${path}:${place})`)).join('\n')
    for (const line of trace(report).split('\n')) {
      expect(JSON.parse(line).stack).to.match(
        /^Error: x\n {4}at run \(src\/cli\/errors\/render-error\.ts:\d+:\d+\)$/,
      )
    }
    const foreign = log('/app/node_modules/undici/dist/index.cjs:1:2')
    expect(trace(foreign)).to.equal(foreign)
  })

  it('names the directory without source maps', () => {
    for (const directory of [join(root, 'bin'), '/nowhere'])
      expect(() => trace('Error: x', directory)).to.throw(`${directory} contains no source maps`)
  })
})
