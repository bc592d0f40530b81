import { statSync } from 'node:fs'
import { join } from 'node:path'
import { buildExecutable } from '../../scripts/executable/build-executable.ts'
import { executableName } from '../../scripts/executable/targets.ts'
import { waitForProcessLock } from '../../src/system/files/process-lock.ts'
import { root } from '../scripts/package-file.ts'

/** In ms. Another process may be building, and may install Node.js for it. */
const maxWait = 300_000

/**
 * The path of an executable of the last build. Builds it if it is older.
 *
 * @param target such as `linux-x64`
 * @param emulator the words that run a Node.js binary of the target (default: if the target needs qemu, qemu)
 */
export async function executableFor(target: string, emulator?: readonly string[]): Promise<string> {
  const path = join(root, 'release', executableName(target))
  const release = await waitForProcessLock(join(root, 'release', `.${target}.lock`), { maxWait })
  if (!release) throw new Error(`another process is building ${path} for too long`)
  try {
    if (!isCurrent(path)) await buildExecutable(root, target, { emulator })
  } finally {
    release()
  }
  return path
}

function isCurrent(path: string): boolean {
  const built = statSync(path, { throwIfNoEntry: false })
  return built !== undefined && built.mtimeMs > statSync(join(root, 'dist/.stamp')).mtimeMs
}
