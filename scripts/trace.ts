import { existsSync, readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

/**
 * `npm run trace -- [--maps DIRECTORY] FILE|-` prints a report of a bug with the lines of the sources instead of those
 * of the bundles. The source maps are those of the last build, or of the release in DIRECTORY.
 */

const root = resolve(import.meta.dirname, '..')

/** `/opt/chatctl/dist/main.cjs:1:2`, also as a URL or with a drive letter. */
const place = /(?:file:\/\/)?[^\s()]*\bdist[\\/]([\w-]+\.cjs):(\d+):(\d+)/g

/** @param directory contains the source maps */
export function traceToSources(report: string, directory: string): string {
  const maps = new Map<string, SourceMap>()
  const mapOf = (bundle: string): SourceMap => {
    const path = join(directory, `${bundle}.map`)
    if (!existsSync(path)) throw new Error(`${path} does not exist. Write it with: npm run build`)
    const map = maps.get(bundle) ?? new SourceMap(JSON.parse(readFileSync(path, 'utf8')))
    maps.set(bundle, map)
    return map
  }
  // For an error that nothing has caught, Node.js also prints the line of the bundle.
  return report.replaceAll(/^.{1000,}$/gm, '…').replaceAll(place, (found, bundle, line, column) => {
    const origin = mapOf(bundle).findOrigin(Number(line), Number(column))
    if (!('fileName' in origin)) return found
    return `${origin.fileName.replace(/^(\.\.\/)+/, '')}:${origin.lineNumber}:${origin.columnNumber}`
  })
}

if (import.meta.main) {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { maps: { type: 'string', default: join(root, 'dist') } },
  })
  const [path] = positionals
  if (path === undefined || positionals.length > 1) {
    process.stderr.write('Usage: npm run trace -- [--maps DIRECTORY] FILE|-\n')
    process.exitCode = 2
  } else {
    process.stdout.write(traceToSources(readFileSync(path === '-' ? 0 : path, 'utf8'), values.maps))
  }
}
