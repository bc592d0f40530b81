import { readEnds } from './read-ends.ts'
import type { LineOf, TranscriptLine } from './transcript-line.ts'

/** The name and the options that are in force while a transcript is written. */
export class RepeatedOptions {
  /** Bytes since they were written. */
  written = 0
  #name: string | undefined
  #options: Omit<LineOf<'options'>, 'at'> | undefined

  /** Those of a transcript that another process left; it need not have been its time to repeat them. */
  static ofFile(path: string): RepeatedOptions {
    const { name, mode, contextId, model, system, temperature, maxTokens } = readEnds(path)
    const repeated = new RepeatedOptions()
    repeated.written = Infinity
    repeated.#name = name
    repeated.#options = {
      type: 'options',
      mode,
      context_id: contextId,
      model,
      system,
      temperature,
      max_tokens: maxTokens,
    }
    return repeated
  }

  take(lines: readonly TranscriptLine[], bytes: number): void {
    this.written += bytes
    for (const line of lines) {
      if (line.type === 'name') this.#name = line.name
      else if (line.type === 'options') this.#options = line
      else if (line.type === 'start' || line.type === 'end') this.#learn(line.context_id)
    }
  }

  /** What to write before a question that comes long after they were written. */
  repeat(at: string): TranscriptLine[] {
    this.written = 0
    const lines: TranscriptLine[] = []
    if (this.#options) lines.push({ ...this.#options, at })
    if (this.#name !== undefined) lines.push({ type: 'name', name: this.#name })
    return lines
  }

  /** The service names the conversation of a first question. */
  #learn(contextId: string | undefined): void {
    const options = this.#options ?? { type: 'options', mode: 'context' }
    if (contextId === undefined || options.mode !== 'context') return
    this.#options = { ...options, context_id: contextId }
  }
}
