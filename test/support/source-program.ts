import { globSync, readFileSync } from 'node:fs'
import { createRequire, registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { CommandSet } from '../../src/boot/run.ts'
import type { Installation } from '../../src/cli/host.ts'

const root = new URL('../../', import.meta.url)
const require = createRequire(import.meta.url)

// The build loads these files as text (scripts/build-bundles.ts).
registerHooks({
  load: (url, context, next) => {
    if (!/\/completion\/scripts\/[\w.]+\.(bash|fish|ps1|zsh)$/.test(url)) return next(url, context)
    const text = readFileSync(fileURLToPath(url), 'utf8')
    return { format: 'module', source: `export default ${JSON.stringify(text)}`, shortCircuit: true }
  },
})

const directory = fileURLToPath(new URL('src/commands/', root))

/** The list of commands has half a megabyte, and each run of a topic reads it as text. */
const read = new Map<string, Buffer>()

function readOnce(name: string): Buffer {
  const known = read.get(name)
  if (known) return known
  const bytes = readFileSync(new URL(name, root))
  const text = bytes.toString()
  read.set(name, Object.assign(bytes, { toString: () => text }))
  return bytes
}

/** The files of the project, as they are in the package. */
export const sourceInstallation: Installation = { isExecutable: false, readFile: readOnce }

/** The program in src, without a build. */
export const sourceProgram: CommandSet = {
  commandIds: globSync('**/*.ts', { cwd: directory }).map((file) =>
    file.replace(/\.ts$/, '').replaceAll(/[\\/]/g, ':'),
  ),
  loadCommand: (id) => require(`${directory}${id.replaceAll(':', '/')}.ts`).default,
}

// Tells oclif not to look for a theme.
process.env['CHATCTL_DISABLE_THEME'] = '1'
