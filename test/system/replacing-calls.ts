import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

/** Replaces functions of `node:fs` while `work` runs. */
export async function replacingCalls<T>(
  calls: { [Name in keyof typeof fs]?: unknown },
  work: () => T | Promise<T>,
): Promise<T> {
  const names = Object.keys(calls) as (keyof typeof fs)[]
  const real = Object.fromEntries(names.map((name) => [name, fs[name]]))
  Object.assign(fs, calls)
  syncBuiltinESMExports()
  try {
    return await work()
  } finally {
    Object.assign(fs, real)
    syncBuiltinESMExports()
  }
}
