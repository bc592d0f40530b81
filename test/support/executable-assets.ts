/** A file in an executable. */
interface Asset {
  name: string
  /** A part of the memory of the executable. */
  content: Buffer
}

/** Finds assets by the start of their names. The lengths of a name and of a content are before it. */
export function findAssets(executable: Buffer, start: string): Asset[] {
  const found: Asset[] = []
  for (let at = executable.indexOf(start); at > 0; at = executable.indexOf(start, at + 1)) {
    const length = executable.readBigUInt64LE(at - 8)
    if (length < start.length || length > 1_000) continue
    const name = executable.toString('latin1', at, at + Number(length))
    const content = at + name.length + 8
    const size = Number(executable.readBigUInt64LE(content - 8))
    found.push({ name, content: executable.subarray(content, content + size) })
  }
  return found
}
