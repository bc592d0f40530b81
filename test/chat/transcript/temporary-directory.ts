import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export function withDirectory(work: (directory: string) => void): void {
  const directory = mkdtempSync(join(tmpdir(), 'chatctl-transcripts-'))
  try {
    work(directory)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}
