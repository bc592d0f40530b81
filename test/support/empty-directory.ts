import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface EmptyDirectory {
  readonly path: string
  remove(): void
}

/** Creates a temporary directory. With `perTest` or `perSuite` it is removed in the end. */
export function makeEmptyDirectory(): EmptyDirectory {
  const path = mkdtempSync(join(tmpdir(), 'chatctl-test-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}
