import type { Readable } from 'node:stream'
import { unusable } from './upstream-refusal.ts'

/** The most that one answer may hold, in bytes: a server gone wrong must not fill the memory. */
const maxAnswer = 4 * 1024 * 1024

/** @throws Refusal `upstream_error` for what is too large or not JSON; whatever reading throws */
export async function readJson(body: Readable): Promise<unknown> {
  const bytes = await readAll(body)
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch (cause) {
    throw unusable('sent something that is not JSON', cause)
  }
}

/** By events, which cost a fraction of an async iterator. */
function readAll(body: Readable): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    body.on('data', (chunk: Buffer) => {
      size += chunk.length
      chunks.push(chunk)
      if (size > maxAnswer) body.destroy(unusable('sent more than 4 MiB in one answer'))
    })
    body.once('end', () => resolve(Buffer.concat(chunks)))
    body.once('error', reject)
    body.once('close', () => {
      if (!body.readableEnded) reject(unusable('broke off'))
    })
  })
}
