import { type Examined, ok } from './finding.ts'
import type { Surroundings } from './surroundings.ts'

/** A Node that is too old does not get here: bin/run.js sends it away. */
export function examineVersion({ version }: Surroundings): Examined[] {
  const { node } = process.versions
  const where = `${process.platform} ${process.arch}`
  return [ok('version', `chatctl ${version.own}, Node.js ${node} (${version.neededNode} or newer), ${where}`)]
}
