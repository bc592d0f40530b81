import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { licensesName } from '../executable/targets.ts'
import { archiveName, isWindows } from './describe-release.ts'

const root = resolve(import.meta.dirname, '../..')

/** The shells of each system, by the file extensions of their completion scripts. */
const shells = { posix: ['bash', 'zsh', 'fish'], windows: ['ps1'] }

/**
 * Packs an executable with its licenses, completion scripts, and man pages. The same files and the same time
 * result in the same bytes.
 *
 * @param executable its path. Its licenses are in the same directory.
 * @param directory receives the archive
 * @param time modification time of all files, in seconds since 1970
 * @returns the path of the archive
 */
export function packArchive(
  target: string,
  executable: string,
  directory: string,
  version: string,
  time: number,
): string {
  const forWindows = isWindows(target)
  const archive = join(directory, archiveName(version, target))
  const parent = mkdtempSync(join(tmpdir(), 'chatctl-archive-'))
  const name = `chatctl-${version}-${target}`
  const staged = join(parent, name)
  try {
    const files = new Map([
      [forWindows ? 'chatctl.exe' : 'chatctl', executable],
      ['LICENSE', join(root, 'LICENSE')],
      ['licenses.txt', join(dirname(executable), licensesName(target))],
      ...(forWindows ? shells.windows : shells.posix).map((shell): [string, string] => [
        `completions/chatctl.${shell}`,
        join(root, `src/cli/completion/scripts/chatctl.${shell}`),
      ]),
      ...(forWindows ? [] : findManPages()),
    ])
    for (const [path, source] of files) stage(source, join(staged, path), path.startsWith('chatctl'), time)
    rmSync(archive, { force: true })
    if (forWindows) {
      // Without a directory around them, because winget and Scoop name the executable by its path in the archive.
      const options = { cwd: staged, env: { PATH: process.env['PATH'], TZ: 'UTC' } }
      execFileSync('zip', ['-q', '-9', '-X', '-D', archive, ...[...files.keys()].sort()], options)
    } else packTar(parent, [name], archive, time)
    return archive
  } finally {
    rmSync(parent, { recursive: true, force: true })
  }
}

/**
 * Packs the source maps of the bundles, for `npm run trace`.
 *
 * @returns the name of the archive
 */
export function packSourceMaps(directory: string, version: string, time: number): string {
  const dist = join(root, 'dist')
  const maps = globSync('*.map', { cwd: dist })
  if (maps.length === 0) throw new Error('The source maps are missing. Write them with: npm run build')
  const name = `chatctl-${version}-source-maps.tar.gz`
  packTar(dist, maps, join(directory, name), time)
  return name
}

function packTar(directory: string, names: readonly string[], archive: string, time: number): void {
  const owner = ['--owner=0', '--group=0', '--numeric-owner', '--format=ustar']
  const order = ['--sort=name', '--mode=u=rwX,go=rX', `--mtime=@${time}`]
  const files = [...names].sort()
  execFileSync('tar', ['-C', directory, ...order, ...owner, '-I', 'gzip -n', '-cf', archive, ...files])
}

function findManPages(): [string, string][] {
  const pages = globSync('man/*.[17]', { cwd: root }).sort()
  if (pages.length === 0) throw new Error('The man pages are missing. Write them with: npm run build')
  return pages.map((page) => [`man/${basename(page)}`, join(root, page)])
}

function stage(source: string, path: string, isExecutable: boolean, time: number): void {
  mkdirSync(dirname(path), { recursive: true })
  copyFileSync(source, path)
  chmodSync(path, isExecutable ? 0o755 : 0o644)
  if (statSync(path).size === 0) throw new Error(`${source} is empty`)
  utimesSync(path, time, time)
}
