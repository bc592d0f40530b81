import fs from 'node:fs'
import { open } from 'node:fs/promises'
import { replacingCalls } from './replacing-calls.ts'

type SyncCall =
  | 'openSync'
  | 'writeSync'
  | 'writeFileSync'
  | 'fsyncSync'
  | 'ftruncateSync'
  | 'closeSync'
  | 'renameSync'
type HandleCall = 'write' | 'sync'

const diskFull = (): Error => Object.assign(new Error('disk full'), { code: 'ENOSPC', errno: -28 })

/** Makes calls of the file system fail with ENOSPC while `work` runs. */
export const failing = {
  async call<T>(name: SyncCall, work: () => T | Promise<T>): Promise<T> {
    const real = fs[name]
    const failingCall = (...args: unknown[]): never => {
      // A file descriptor is closed even if the call fails, and a part may be written.
      if (name === 'closeSync') Reflect.apply(real, fs, args)
      const [file, bytes] = args
      if (name === 'writeSync') {
        const part = Buffer.from(bytes as string)
        fs.writevSync(file as number, [part.subarray(0, part.length / 2)])
      }
      throw diskFull()
    }
    return replacingCalls({ [name]: failingCall }, work)
  },

  async flush<T>(work: () => Promise<T>): Promise<T> {
    const fdatasync = (_: number, done: fs.NoParamCallback) => setImmediate(done, diskFull())
    return replacingCalls({ fdatasync }, work)
  },

  /** Makes the first renames fail, each with its error. */
  async renames<T>(errors: readonly Error[], work: () => T | Promise<T>): Promise<T> {
    const real = fs.renameSync
    let calls = 0
    const renameSync = (...args: Parameters<typeof real>): void => {
      const error = errors[calls++]
      if (error) throw error
      real(...args)
    }
    return replacingCalls({ renameSync }, work)
  },

  async handle<T>(name: HandleCall, work: () => Promise<T>): Promise<T> {
    const handle = await open(import.meta.filename)
    const prototype = Object.getPrototypeOf(handle)
    await handle.close()
    const real = prototype[name]
    prototype[name] = async () => {
      throw diskFull()
    }
    try {
      return await work()
    } finally {
      prototype[name] = real
    }
  },
}
