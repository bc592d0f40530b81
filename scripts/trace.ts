import { existsSync, globSync, readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

/**
 * `npm run trace -- [--maps DIRECTORY] [FILE]` prints a report of a bug with the lines of the sources instead of those
 * of the bundles. Without FILE, it reads stdin. The source maps are those of the last build, or of the release in DIRECTORY.
 */

/** `/opt/chatctl/dist/main.cjs:1:2`, also as a URL, with a drive letter, or in a string of JSON. */
const place = /(?<![^\s()"'])[^\s()"']*\bdist[\\/]+([\w-]+\.cjs):(\d+):(\d+)/g

/**
 * @param directory contains the source maps
 * @throws Error if it contains none
 */
export function traceToSources(report: string, directory: string): string {
  if (globSync('*.cjs.map', { cwd: directory }).length === 0)
    throw new Error(`${directory} contains no source maps. Write those of this version with: npm run build`)
  const maps = new Map<string, SourceMap>()
  const traceLine = (text: string): string =>
    text.replaceAll(place, (found, bundle, line, column) => {
      const path = join(directory, `${bundle}.map`)
      // Otherwise, it is a bundle of another package.
      if (!maps.has(bundle) && existsSync(path))
        maps.set(bundle, new SourceMap(JSON.parse(readFileSync(path, 'utf8'))))
      const origin = maps.get(bundle)?.findOrigin(Number(line), Number(column))
      if (origin === undefined || !('fileName' in origin)) return found
      return `${origin.fileName.replace(/^(\.\.\/)+/, '')}:${origin.lineNumber}:${origin.columnNumber}`
    })
  // For an error that nothing has caught, Node.js also prints the line of the bundle.
  return report.replaceAll(/.+/g, (line) =>
    line.length >= 1000 && line.search(place) === -1 ? '…' : traceLine(line),
  )
}

if (import.meta.main) {
  const maps = { type: 'string', default: resolve(import.meta.dirname, '../dist') } as const
  const { positionals, values } = parseArgs({ allowPositionals: true, options: { maps } })
  const [path = '-'] = positionals
  try {
    if (positionals.length > 1) throw new Error('Name one file')
    process.stdout.write(traceToSources(readFileSync(path === '-' ? 0 : path, 'utf8'), values.maps))
  } catch (error) {
    process.stderr.write(`Error: ${(error as Error).message}\n`)
    process.exitCode = 1
  }
}
