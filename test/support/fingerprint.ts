import { createHash } from 'node:crypto'
import { globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** The hash of every file below a directory, except for the compile cache. */
export function fingerprint(directory: string): Record<string, string> {
  // `**` skips directories whose names begin with a dot, which contain all files of chatctl.
  const files = globSync(['**/*', '.*/**/*'], { cwd: directory })
  return Object.fromEntries(
    files
      .filter((file) => !file.includes('.cache') && statSync(join(directory, file)).isFile())
      .map((file) => [
        file,
        createHash('sha256')
          .update(readFileSync(join(directory, file)))
          .digest('hex'),
      ]),
  )
}
