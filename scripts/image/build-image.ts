import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { debianArchitectures } from '../release/debian-package.ts'
import { sourceDate } from '../release/source-date.ts'
import { writeLayout } from './image-layout.ts'
import { makeServiceImage } from './service-image.ts'

/**
 * `npm run image -- linux-x64 linux-arm64` writes `release/image`, an image layout, from the executables in
 * `release/`. Needs mmdebstrap, and no daemon.
 */

const root = resolve(import.meta.dirname, '../..')
const release = join(root, 'release')
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

try {
  const targets = process.argv.slice(2)
  if (targets.length === 0) throw new Error(`Name a target: ${Object.keys(debianArchitectures).join(', ')}`)
  const images = targets.map((target) => {
    const architecture = debianArchitectures[target]
    if (architecture === undefined) throw new Error(`There is no image for ${target}`)
    const executable = join(release, `chatctl-${target}`)
    if (!existsSync(executable))
      throw new Error(`${executable} does not exist. Build it with: npm run executable -- ${target}`)
    return makeServiceImage(architecture, executable, sourceDate())
  })
  const layout = join(release, 'image')
  writeLayout(layout, version, images)
  process.stdout.write(`${layout}\n`)
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
  process.exitCode = 1
}
