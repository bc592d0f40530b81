import type * as z from 'zod/mini'
import { checkShape, type Fault, faultsOf } from '../contract/faults.ts'
import type { ApiResponse } from './response.ts'

/** Finds the faults of a response when they are first read, because checking a thousand pages of history is slow. */
export function deferFaults(response: ApiResponse<unknown>, shape: z.ZodMiniType): ApiResponse<unknown> {
  return Object.defineProperties(response, { [check]: { value: { shape } }, faults: faultsProperty })
}

/** The property for what is checked, which is not enumerable. */
const check = Symbol('check')

interface Deferred extends ApiResponse<unknown> {
  readonly [check]: { shape: z.ZodMiniType; faults?: Fault[] }
}

/**
 * All responses have the same accessor. V8 keeps accessors in its old generation: one for each response would keep
 * the body until the next full collection.
 */
const faultsProperty: PropertyDescriptor & ThisType<Deferred> = {
  get() {
    const checked = this[check]
    if (!checked.faults) {
      const result = checkShape(checked.shape, this.body)
      checked.faults = result.success ? [] : faultsOf(result.error)
    }
    return checked.faults
  },
  enumerable: true,
  configurable: true,
}
