import { lstatSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { Failure } from '../failure.ts'
import { systemWords } from '../system-words.ts'
import { isPlanFile } from './plan-file.ts'

/**
 * Writes a plan file for its owner alone, whole or not at all.
 *
 * @throws Failure `refused` where it would take the place of what is no plan, `storage` where it
 *   cannot be written
 */
export function savePlan(path: string, text: string): void {
  const found = guard(path, () => lstatSync(path, { throwIfNoEntry: false }))
  // What a link leads to is replaced, not the link.
  const target = found ? guard(path, () => realpathSync(path)) : path
  if (found) demandPlan(path, target)
  const aside = `${target}.${process.pid}.tmp`
  guard(path, () => {
    try {
      writeFileSync(aside, text, { mode: 0o600, flag: 'wx', flush: true })
      renameSync(aside, target)
    } catch (error) {
      rmSync(aside, { force: true })
      throw error
    }
  })
}

function demandPlan(path: string, target: string): void {
  const isFile = guard(path, () => lstatSync(target).isFile())
  if (isFile && isPlanFile(guard(path, () => readFileSync(target, 'utf8')))) return
  throw new Failure('refused', `${path} is there and is no plan, so it is not written over`, {
    hint: 'Name another file with --save, or remove this one.',
  })
}

function guard<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    throw new Failure('storage', `The plan ${path} cannot be written: ${systemWords(cause)}`, { cause })
  }
}
