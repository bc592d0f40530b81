import { createReadStream } from 'node:fs'

/** The lines of a file. node:readline would also split at U+2028 and U+2029, which JSON may contain. */
export async function* readFileLines(path: string): AsyncGenerator<string> {
  let rest = ''
  for await (const chunk of createReadStream(path, { encoding: 'utf8', highWaterMark: 1024 * 1024 })) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
  if (rest !== '') yield rest
}
