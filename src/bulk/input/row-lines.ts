/** A line number for each row that has one, by its index, at 4 bytes a row. */
export class RowLines {
  #lines = new Uint32Array(1024)

  set(index: number, line: number): void {
    if (index >= this.#lines.length) {
      const larger = new Uint32Array(Math.max(index + 1, this.#lines.length * 2))
      larger.set(this.#lines)
      this.#lines = larger
    }
    this.#lines[index] = line
  }

  get(index: number): number | undefined {
    return this.#lines[index] || undefined
  }
}
