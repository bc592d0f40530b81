import { pathToFileURL } from 'node:url'

/**
 * On Node 22, node:sqlite is a release candidate and prints a warning to stderr. Only this warning is
 * suppressed, because the user cannot act on it.
 */
export function loadSqlite(): typeof import('node:sqlite') {
  const emitWarning = process.emitWarning
  process.emitWarning = ((warning: string | Error, ...rest: unknown[]) => {
    const text = typeof warning === 'string' ? warning : warning.message
    if (text.startsWith('SQLite is an experimental feature')) return
    Reflect.apply(emitWarning, process, [warning, ...rest])
  }) as typeof process.emitWarning
  try {
    return process.getBuiltinModule('node:sqlite')
  } finally {
    process.emitWarning = emitWarning
  }
}

/** The URL of a file for SQLite, which refuses one with a host, as that of a file on a Windows share. */
export function sqliteUrl(path: string, platform: NodeJS.Platform = process.platform): URL {
  const { host, pathname } = pathToFileURL(path, { windows: platform === 'win32' })
  return new URL(`file://${host && `//${host}`}${pathname}`)
}
