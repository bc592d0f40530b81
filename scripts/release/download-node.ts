import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

/**
 * `npm run official-node -- TARGET` writes the official Node.js binary of a target, in the version that runs this
 * script, to `release/node/node` or `release/node/node.exe`. The checksum comes from the same server over TLS.
 */

/**
 * @param directory receives the binary
 * @param base address of the directory of the version
 * @returns the path of the binary
 */
export async function downloadNode(
  target: string,
  directory: string,
  base = `https://nodejs.org/dist/${process.version}`,
): Promise<string> {
  const unpacked = `node-${process.version}-${target}`
  const isWindows = target.startsWith('win')
  const name = isWindows ? `${target}/node.exe` : `${unpacked}.tar.gz`
  const sums = (await download(`${base}/SHASUMS256.txt`)).toString()
  const wanted = sums
    .split('\n')
    .map((line) => line.split('  '))
    .find(([, file]) => file === name)?.[0]
  if (wanted === undefined) throw new Error(`${base}/SHASUMS256.txt does not list ${name}`)
  const content = await download(`${base}/${name}`)
  if (createHash('sha256').update(content).digest('hex') !== wanted)
    throw new Error(`The checksum of ${base}/${name} is wrong`)
  mkdirSync(directory, { recursive: true })
  const file = join(directory, isWindows ? 'node.exe' : 'node')
  if (isWindows) writeFileSync(file, content)
  else
    execFileSync('tar', ['-xz', '-C', directory, '--strip-components=2', `${unpacked}/bin/node`], {
      input: content,
    })
  return file
}

async function download(address: string): Promise<Buffer> {
  const response = await fetch(address)
  if (!response.ok) throw new Error(`${address}: ${response.status}`)
  return Buffer.from(await response.arrayBuffer())
}

if (import.meta.main) {
  const [target = ''] = process.argv.slice(2)
  process.stdout.write(`${await downloadNode(target, resolve(import.meta.dirname, '../../release/node'))}\n`)
}
