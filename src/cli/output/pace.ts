/** The rate is that of the last so many ms, looked at so often. */
const span = 10_000
const interval = 125

/** How fast something goes, of late. All times are ms. */
export class Pace {
  readonly #samples: { at: number; count: number }[]

  constructor(at: number, count: number) {
    this.#samples = [{ at, count }]
  }

  /** @returns how many a second */
  measure(at: number, count: number): number {
    const newest = this.#samples.at(-1)
    if (!newest || at - newest.at >= interval) this.#samples.push({ at, count })
    while (this.#samples.length > 2 && at - (this.#samples[1]?.at ?? at) >= span) this.#samples.shift()
    const oldest = this.#samples[0] ?? { at, count }
    return at <= oldest.at ? 0 : ((count - oldest.count) * 1000) / (at - oldest.at)
  }
}
