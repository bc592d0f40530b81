import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build, type Loader } from 'esbuild'

/** The scripts of `autocomplete`, which are texts to us. */
export const textFiles: Record<string, Loader> = {
  '.bash': 'text',
  '.fish': 'text',
  '.ps1': 'text',
  '.zsh': 'text',
}

/** Beside the commands are files that only their topic uses. */
export function findCommands(root: string): { id: string; file: string }[] {
  const files = globSync('**/*.ts', { cwd: join(root, 'src/commands') })
  return files
    .filter((file) => /^export default class /m.test(readFileSync(join(root, 'src/commands', file), 'utf8')))
    .map((file) => file.replaceAll('\\', '/'))
    .map((file) => ({ file, id: file.replace(/\.ts$/, '').replaceAll('/', ':') }))
}

/** One module with every command by id, for oclif to write its manifest from. */
export async function buildCommandTable(root: string, outfile: string): Promise<void> {
  const found = findCommands(root)
  const imports = found.map(({ file }, index) => `import c${index} from './commands/${file}'`)
  const entries = found.map(({ id }, index) => `'${id}': c${index}`)
  await build({
    absWorkingDir: root,
    stdin: {
      contents: `${imports.join('\n')}\nexport const commands = { ${entries.join(', ')} }`,
      resolveDir: join(root, 'src'),
    },
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    loader: textFiles,
  })
}
