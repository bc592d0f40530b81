import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { describeSystemError } from '../../system/describe-system-error.ts'

/** The directory itself, or the nearest one above it that exists. */
export function nearestThere(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestThere(dirname(path))
}

/** Why nothing can be written to a directory, or why it cannot be made; undefined where it can. */
export function obstacleTo(folder: string): string | undefined {
  const nearest = nearestThere(folder)
  const cannot = nearest === folder ? 'cannot be written' : `cannot be made in ${nearest}`
  try {
    if (!statSync(nearest).isDirectory()) return `${folder} ${cannot}: not a directory`
    accessSync(nearest, constants.W_OK | constants.X_OK)
    return undefined
  } catch (error) {
    return `${folder} ${cannot}: ${describeSystemError(error)}`
  }
}
