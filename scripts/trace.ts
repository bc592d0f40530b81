import { existsSync, globSync, readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

/**
 * `npm run trace -- [--maps DIRECTORY] FILE|-` prints a report of a bug with the lines of the sources instead of those
 * of the bundles. The source maps are those of the last build, or of the release in DIRECTORY.
 */

const root = resolve(import.meta.dirname, '..')

/** `/opt/chatctl/dist/main.cjs:1:2`, also as a URL, with a drive letter, or in a string of JSON. */
const place = /(?<![^\s()"'])[^\s()"']*\bdist[\\/]+([\w-]+\.cjs):(\d+):(\d+)/g

/**
 * @param directory contains the source maps
 * @throws Error if it contains none
 */
export function traceToSources(report: string, directory: string): string {
  if (globSync('*.cjs.map', { cwd: directory }).length === 0) {
    throw new Error(`${directory} contains no source maps. Write those of this version with: npm run build`)
  }
  const maps = new Map<string, SourceMap>()
  /** @returns undefined for a bundle of another package */
  const mapOf = (bundle: string): SourceMap | undefined => {
    const path = join(directory, `${bundle}.map`)
    if (!existsSync(path)) return undefined
    const map = maps.get(bundle) ?? new SourceMap(JSON.parse(readFileSync(path, 'utf8')))
    maps.set(bundle, map)
    return map
  }
  const traceLine = (text: string): string =>
    text.replaceAll(place, (found, bundle, line, column) => {
      const origin = mapOf(bundle)?.findOrigin(Number(line), Number(column))
      if (origin === undefined || !('fileName' in origin)) return found
      return `${origin.fileName.replace(/^(\.\.\/)+/, '')}:${origin.lineNumber}:${origin.columnNumber}`
    })
  // For an error that nothing has caught, Node.js also prints the line of the bundle.
  return report.replaceAll(/.+/g, (line) =>
    line.length >= 1000 && line.search(place) === -1 ? '…' : traceLine(line),
  )
}

/**
 * @param path of the report, or `-` for stdin
 * @throws Error that names what cannot be read
 */
export function traceFile(path: string, directory: string): string {
  let report: string
  try {
    report = readFileSync(path === '-' ? 0 : path, 'utf8')
  } catch (error) {
    throw new Error(`Cannot read ${path}: ${error instanceof Error ? error.message : error}`)
  }
  return traceToSources(report, directory)
}

function main(): void {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { maps: { type: 'string', default: join(root, 'dist') } },
  })
  const [path] = positionals
  if (path === undefined || positionals.length > 1) {
    process.stderr.write('Usage: npm run trace -- [--maps DIRECTORY] FILE|-\n')
    process.exitCode = 2
  } else {
    process.stdout.write(traceFile(path, values.maps))
  }
}

if (import.meta.main) {
  try {
    main()
  } catch (error) {
    process.stderr.write(`Error: ${error instanceof Error ? error.message : error}\n`)
    process.exitCode = 1
  }
}
