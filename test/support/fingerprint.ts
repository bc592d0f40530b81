import { createHash } from 'node:crypto'
import { constants, globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** The hash of each file that did not change since it was read, by its path and what `stat` says. */
const known = new Map<string, string>()

/** The hash of every file below a directory, except for the compile cache. */
export function fingerprint(directory: string): Record<string, string> {
  // `**` skips directories whose names begin with a dot, which contain all files of chatctl.
  const files = globSync(['**/*', '.*/**/*'], { cwd: directory }).filter((file) => !file.includes('.cache'))
  return Object.fromEntries(
    files.flatMap((file) => {
      const path = join(directory, file)
      const { ino, size, mtimeNs, ctimeNs, ...stats } = statSync(path, { bigint: true })
      if ((Number(stats.mode) & constants.S_IFMT) !== constants.S_IFREG) return []
      const key = [path, ino, size, mtimeNs, ctimeNs].join()
      const hash = known.get(key) ?? createHash('sha256').update(readFileSync(path)).digest('hex')
      known.set(key, hash)
      return [[file, hash]]
    }),
  )
}
