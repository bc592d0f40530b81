import type { Dispatcher } from 'undici'
import { unusable } from './upstream-refusal.ts'

/** The most that one answer may hold, in bytes: a server gone wrong must not fill the memory. */
const maxAnswer = 16 * 1024 * 1024

/** @throws Refusal `upstream_error` for what is too large or not JSON; whatever reading throws */
export async function readJson({ body }: Dispatcher.ResponseData): Promise<unknown> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > maxAnswer) throw unusable('sent more than 16 MiB in one answer')
    chunks.push(chunk)
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch (cause) {
    throw unusable('sent something that is not JSON', cause)
  }
}
