import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { composeExecutableLicenses } from '../compose-licenses.ts'
import { codeCacheFor } from './code-cache.ts'
import { locatePackages } from './locate-packages.ts'
import { prepareBinary, sign } from './prepare-binary.ts'
import { executableName, licensesName, targets } from './targets.ts'
import { writeBlob } from './write-blob.ts'

export interface BuildOptions {
  /** The Node.js binary of the target (default: from the npm package). */
  node?: string | undefined
  /** The words that start a Node.js binary of the target on this machine, such as those of an emulator. */
  emulator?: readonly string[] | undefined
}

/**
 * Builds the executable of a target in the directory `release` from the last build of the program, and writes the
 * licenses of all that is in it.
 *
 * @returns its path, and what could not be done on this machine
 */
export async function buildExecutable(
  root: string,
  name: string,
  { node: given, emulator }: BuildOptions = {},
): Promise<{ path: string; notes: string[] }> {
  const target = targets[name]
  if (!target) throw new Error(`Unknown target ${name}; the targets are ${Object.keys(targets).join(', ')}`)
  const release = join(root, 'release')
  mkdirSync(release, { recursive: true })
  const path = join(release, executableName(name))
  const directory = mkdtempSync(join(tmpdir(), 'chatctl-executable-'))
  try {
    const { node, keyring } = locatePackages(root, target, given)
    const cache = codeCacheFor(root, target, { node, emulator, directory })
    const licenses = join(release, licensesName(name))
    writeFileSync(licenses, composeExecutableLicenses(root, dirname(keyring), process.versions.node))
    const blob = writeBlob(root, { keyring, licenses, codeCache: cache.directory }, directory)
    const binary = `${path}.part`
    const notes = [...cache.notes, ...prepareBinary(node, target, binary)]
    inject(root, binary, blob)
    notes.push(...sign(binary, target))
    renameSync(binary, path)
    return { path, notes }
  } finally {
    rmSync(directory, { recursive: true, force: true })
    rmSync(`${path}.part`, { force: true })
  }
}

/** Adds the blob to the binary, as Node.js expects it (Node.js manual, "Single executable applications"). */
function inject(root: string, binary: string, blob: string): void {
  const words = [binary, 'NODE_SEA_BLOB', blob, '--macho-segment-name', 'NODE_SEA']
  const fuse = ['--sentinel-fuse', 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2']
  // It warns about the names of sections, without effect. An error contains its output.
  execFileSync(process.execPath, [join(root, 'node_modules/postject/dist/cli.js'), ...words, ...fuse], {
    stdio: 'pipe',
  })
}
