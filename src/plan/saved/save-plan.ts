import { lstatSync, readFileSync, realpathSync } from 'node:fs'
import { Failure } from '../../failure.ts'
import { systemWords } from '../../system-words.ts'
import { isPlanFile } from './plan-file.ts'
import { writeAside } from './write-aside.ts'

/**
 * Writes a plan file for its owner alone, whole or not at all.
 *
 * @throws Failure `refused` where it would take the place of what is no plan, `storage` where it
 *   cannot be written
 */
export function savePlan(path: string, text: string): void {
  try {
    const isThere = lstatSync(path, { throwIfNoEntry: false }) !== undefined
    // What a link leads to is replaced, not the link.
    const target = isThere ? realpathSync(path) : path
    if (isThere && !isPlan(target)) {
      throw new Failure('refused', `${path} is there and is no plan, so it is not written over`, {
        hint: 'Name another file with --save, or remove this one.',
      })
    }
    writeAside(target, text)
  } catch (cause) {
    if (cause instanceof Failure) throw cause
    throw new Failure('storage', `The plan ${path} cannot be written: ${systemWords(cause)}`, { cause })
  }
}

function isPlan(path: string): boolean {
  return lstatSync(path).isFile() && isPlanFile(readFileSync(path, 'utf8'))
}
