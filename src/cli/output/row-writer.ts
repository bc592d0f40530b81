import { absentFields, undocumentedFields } from '../../view/format/select-fields.ts'
import type { View } from '../../view/format/view.ts'
import { absentField } from './field-failures.ts'
import { type RowFormat, renderRow } from './render-result.ts'

interface Rendering {
  format: RowFormat
  fields: readonly string[] | undefined
  jq: string | undefined
}

/** Rows that are searched for an undocumented field before the first row is written. */
const maxHeld = 100

/** Writes rows as they arrive, so that memory does not grow with their number. */
export class RowWriter {
  readonly #view: View
  readonly #rendering: Rendering
  readonly #write: (text: string) => Promise<void>
  #held: unknown[] = []
  #missing: readonly string[]
  #isFirst = true

  constructor(view: View, rendering: Rendering, write: (text: string) => Promise<void>) {
    this.#view = view
    this.#rendering = rendering
    this.#write = write
    this.#missing = undocumentedFields(view, rendering.fields ?? [])
  }

  /** @throws Failure for an undocumented field that the first rows do not have */
  async write(rows: readonly unknown[]): Promise<void> {
    if (rows.length === 0) return
    this.#held.push(...rows)
    if (this.#missing.length > 0) this.#missing = absentFields(this.#view, this.#held, this.#missing)
    if (this.#missing.length === 0) return this.#writeHeld()
    if (this.#held.length >= maxHeld) this.#refuseMissing()
  }

  /** @throws Failure for a field that no row has */
  async end(): Promise<void> {
    if (this.#held.length > 0) this.#refuseMissing()
    if (this.#rendering.format === 'json') await this.#write(this.#isFirst ? '[]\n' : '\n]\n')
  }

  #refuseMissing(): void {
    const [unknown] = this.#missing
    if (unknown !== undefined) throw absentField(this.#view, unknown)
  }

  async #writeHeld(): Promise<void> {
    const rows = this.#held
    this.#held = []
    let text = ''
    for (const row of rows) {
      text += await renderRow(this.#view, row, this.#rendering, this.#isFirst)
      this.#isFirst = false
    }
    await this.#write(text)
  }
}
