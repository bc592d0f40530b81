/**
 * Takes width from the widest columns until all fit: the narrow ones keep what they need.
 *
 * @param natural what each column would take
 * @param room for all of them
 * @returns how wide a column may be at most
 */
export function widestColumn(natural: readonly number[], room: number): number {
  let left = room
  const sorted = natural.toSorted((a, b) => a - b)
  for (const [index, width] of sorted.entries()) {
    const share = Math.floor(left / (sorted.length - index))
    if (width > share) return share
    left -= width
  }
  return Number.POSITIVE_INFINITY
}
