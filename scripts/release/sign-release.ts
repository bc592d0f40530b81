import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { hashFile } from './describe-release.ts'
import { readSigners, signRelease } from './signature.ts'

/**
 * `node scripts/release/sign-release.ts DIRECTORY` signs SHASUMS256.txt of a release with the private key in
 * RELEASE_SIGNING_KEY. It is no script of npm and needs no packages, so that no other code is in the job that has
 * the key.
 */

const directory = resolve(process.argv[2] ?? 'release')
try {
  const key = process.env['RELEASE_SIGNING_KEY']
  if (!key) throw new Error('RELEASE_SIGNING_KEY is not set')
  for (const line of readFileSync(join(directory, 'SHASUMS256.txt'), 'utf8').trim().split('\n')) {
    const [hash, name = ''] = line.split('  ')
    if (hashFile(join(directory, name)) !== hash) throw new Error(`The checksum of ${name} is wrong`)
  }
  signRelease(directory, key, readSigners())
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
  process.exitCode = 1
}
