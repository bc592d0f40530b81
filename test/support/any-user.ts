import { chmodSync, copyFileSync, cpSync, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { binary } from './run-chatctl.ts'

/**
 * Paths that every user of this machine can read. A checkout below a private directory, such as /root, is
 * copied to a directory that is removed when this process ends.
 */

/** Whether every user can enter all directories of a path. */
function isOpen(path: string): boolean {
  const parent = dirname(path)
  return parent === path || ((statSync(parent).mode & 0o001) !== 0 && isOpen(parent))
}

let openDirectory: string | undefined

function inOpenDirectory(name: string): string {
  if (openDirectory === undefined) {
    const created = mkdtempSync('/tmp/chatctl-any-user-')
    process.once('exit', () => rmSync(created, { recursive: true, force: true }))
    chmodSync(created, 0o755)
    openDirectory = created
  }
  return join(openDirectory, name)
}

const nativePackages = ['node_modules/@napi-rs', 'node_modules/@node-rs']

/** Node, for a process of any user. */
function nodeForAnyUser(): string {
  if (isOpen(process.execPath)) return process.execPath
  const copy = inOpenDirectory('node')
  if (!existsSync(copy)) copyFileSync(process.execPath, copy)
  return copy
}

/** The command line of the built program, for a process of any user. */
export function programForAnyUser(): [node: string, script: string] {
  if (isOpen(binary)) return [nodeForAnyUser(), binary]
  const root = join(dirname(binary), '..')
  const copy = inOpenDirectory('program')
  if (!existsSync(copy)) {
    for (const part of ['bin', 'dist', 'package.json', 'oclif.manifest.json', ...nativePackages]) {
      cpSync(join(root, part), join(copy, part), { recursive: true, dereference: true })
    }
  }
  return [nodeForAnyUser(), join(copy, 'bin', 'run.js')]
}
