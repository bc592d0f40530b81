import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { isNative, type Target } from './targets.ts'

interface Machine {
  node: string
  emulator: readonly string[] | undefined
  /** For temporary files. */
  directory: string
}

/**
 * V8's code caches for a target, which only a run of its Node.js binary can write. Without them, the first runs
 * on a machine are slower.
 */
export function codeCacheFor(
  root: string,
  target: Target,
  { node, emulator, directory }: Machine,
): { directory: string | undefined; notes: string[] } {
  // The build of the program has written those of this machine.
  if (isNative(target) && node === process.execPath)
    return { directory: join(root, 'dist/code-cache'), notes: [] }
  const words = emulator ?? (isNative(target) ? [] : emulatorOf(target))
  if (words === undefined) {
    return { directory: undefined, notes: ['without code caches: this machine cannot run it'] }
  }
  const output = join(directory, 'code-cache')
  const script = join(root, 'scripts/write-code-cache.ts')
  execFileSync(process.execPath, [script, '--output', output, '--', ...words, node], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  return { directory: output, notes: [] }
}

const qemu = '/usr/bin/qemu-aarch64-static'

/** Debian's qemu-user-static, with the libraries of libc6-arm64-cross. */
function emulatorOf({ platform, arch }: Target): readonly string[] | undefined {
  const libraries = '/usr/aarch64-linux-gnu'
  const isKnown = process.platform === 'linux' && platform === 'linux' && arch === 'arm64'
  return isKnown && existsSync(qemu) && existsSync(libraries) ? [qemu, '-L', libraries] : undefined
}
