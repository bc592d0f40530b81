/**
 * node:sqlite is a release candidate on Node 22 and announces that on stderr when it is loaded.
 * Exactly that warning is dropped: it tells the person at the terminal nothing they can act on.
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
