import { Failure } from '../../src/contract/failure.ts'

/** The failure that something throws; anything else that it does is an error. */
export function thrownFailure(act: () => unknown): Failure {
  try {
    act()
  } catch (error) {
    if (error instanceof Failure) return error
    throw error
  }
  throw new Error('nothing was thrown')
}
