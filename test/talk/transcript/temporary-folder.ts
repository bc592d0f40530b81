import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Runs the work with a temporary directory, and removes the directory. */
export function withFolder(work: (folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'chatctl-transcripts-'))
  try {
    work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
