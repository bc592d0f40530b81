import type * as z from 'zod/mini'
import { checkShape, type Fault, faultsOf } from '../contract/faults.ts'
import type { ApiResponse } from './response.ts'

/** A response whose `faults` are found when they are first read, because checking a thousand pages of history is slow. */
export class CheckedResponse implements ApiResponse<unknown> {
  declare readonly faults: Fault[]
  readonly body: unknown
  readonly status: number
  readonly headers: Record<string, string>
  readonly #shape: z.ZodMiniType
  #found: Fault[] | undefined

  constructor({ body, status, headers, faults: _, ...more }: ApiResponse<unknown>, shape: z.ZodMiniType) {
    this.body = body
    this.status = status
    this.headers = headers
    this.#shape = shape
    Object.assign(this, more)
    Object.defineProperty(this, 'faults', faultsProperty)
  }

  static find(response: CheckedResponse): Fault[] {
    if (!response.#found) {
      const result = checkShape(response.#shape, response.body)
      response.#found = result.success ? [] : faultsOf(result.error)
    }
    return response.#found
  }
}

/**
 * All responses have the same accessor. V8 keeps accessors in its old generation: one for each response would keep
 * the body until the next full collection.
 */
const faultsProperty: PropertyDescriptor & ThisType<CheckedResponse> = {
  get() {
    return CheckedResponse.find(this)
  },
  enumerable: true,
  configurable: true,
}
