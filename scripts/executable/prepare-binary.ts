import { execFileSync } from 'node:child_process'
import { chmodSync, copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { isNative, type Target } from './targets.ts'

/**
 * Copies the Node.js binary of a target, without its signature, which injecting would invalidate, and without
 * debugging symbols.
 *
 * @returns what could not be done on this machine
 */
export function prepareBinary(node: string, target: Target, path: string): string[] {
  demandVersion(node)
  copyFileSync(node, path)
  chmodSync(path, 0o755)
  if (target.platform === 'win32') removeAuthenticode(path)
  if (target.platform === 'darwin' && hasProgram('codesign')) run('codesign', ['--remove-signature', path])
  // Before injecting, because the stripped result of injecting crashes.
  return target.platform === 'linux' ? strip(path, target) : []
}

/** The version of Node.js that writes the assets must be the one that reads them. */
function demandVersion(node: string): void {
  const { version } = process
  if (readFileSync(node).includes(`/download/release/${version}/node-${version}-headers.tar.gz`)) return
  throw new Error(`${node} is not a binary of Node.js ${version}, which runs this build`)
}

function strip(path: string, target: Target): string[] {
  const own = isNative(target)
    ? ['strip']
    : [`${target.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu-strip`]
  const program = [...own, 'llvm-strip'].find(hasProgram)
  if (program === undefined) return [`not stripped: install ${own} (Debian: ${packageOf(target)})`]
  run(program, [path])
  return []
}

const packageOf = (target: Target): string => (isNative(target) ? 'binutils' : 'binutils-aarch64-linux-gnu')

/**
 * Removes the signature of a Windows program: the entry of the certificate table in the optional header, and
 * the table, which is at the end of the file (PE Format, "Optional Header Data Directories").
 */
function removeAuthenticode(path: string): void {
  const file = readFileSync(path)
  const header = file.readUInt32LE(0x3c) + 24
  const isPe =
    file.toString('latin1', header - 24, header - 20) === 'PE\0\0' && file.readUInt16LE(header) === 0x20b
  if (!isPe) throw new Error(`${path} is not a 64-bit Windows program`)
  const entry = header + 112 + 4 * 8
  const [offset, size] = [file.readUInt32LE(entry), file.readUInt32LE(entry + 4)]
  if (size === 0) return
  if (offset + size !== file.length) throw new Error(`${path} has data after its certificate table`)
  file.fill(0, entry, entry + 8)
  // The checksum of the whole file, which Windows verifies only for drivers.
  file.writeUInt32LE(0, header + 64)
  writeFileSync(path, file.subarray(0, offset))
}

/** @returns what could not be done on this machine */
export function sign(path: string, { platform }: Target): string[] {
  if (platform !== 'darwin') return []
  if (!hasProgram('codesign')) return ['unsigned: macOS runs it after codesign --sign - there']
  run('codesign', ['--sign', '-', path])
  return []
}

function hasProgram(name: string): boolean {
  try {
    execFileSync(process.platform === 'win32' ? 'where' : 'which', [name], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

function run(command: string, args: readonly string[]): void {
  execFileSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'] })
}
