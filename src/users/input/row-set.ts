/** A set of row indexes, with one bit per row. */
export class RowSet {
  size = 0
  #bits = new Uint8Array(1024)

  add(index: number): void {
    const at = index >>> 3
    if (at >= this.#bits.length) {
      const larger = new Uint8Array(Math.max(at + 1, this.#bits.length * 2))
      larger.set(this.#bits)
      this.#bits = larger
    }
    const bit = 1 << (index & 7)
    const bits = this.#bits[at] ?? 0
    if (bits & bit) return
    this.#bits[at] = bits | bit
    this.size++
  }

  has(index: number): boolean {
    return ((this.#bits[index >>> 3] ?? 0) & (1 << (index & 7))) !== 0
  }
}
