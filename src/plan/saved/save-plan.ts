import { lstatSync, readFileSync, realpathSync } from 'node:fs'
import { Failure } from '../../contract/failure.ts'
import { describeSystemError } from '../../system/describe-system-error.ts'
import { replaceDocument } from '../../system/document-file.ts'
import { isPlanFile } from './plan-file.ts'

/**
 * Writes a plan file for its owner alone, whole or not at all.
 *
 * @throws Failure `refused` where it would take the place of what is no plan, `storage` where it
 *   cannot be written
 */
export async function savePlan(path: string, text: string): Promise<void> {
  try {
    const isThere = lstatSync(path, { throwIfNoEntry: false }) !== undefined
    if (isThere && !isPlan(realpathSync(path))) {
      throw new Failure('refused', `${path} is there and is no plan, so it is not written over`, {
        advice: [{ code: 'other_plan_file' }],
      })
    }
    await replaceDocument(path, text)
  } catch (cause) {
    if (cause instanceof Failure) throw cause
    throw new Failure('storage', `The plan ${path} cannot be written: ${describeSystemError(cause)}`, {
      cause,
    })
  }
}

function isPlan(path: string): boolean {
  return lstatSync(path).isFile() && isPlanFile(readFileSync(path, 'utf8'))
}
