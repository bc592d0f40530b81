import { Failure } from '../../src/contract/failure.ts'

/** Returns the failure that the function throws. Any other outcome is an error. */
export function thrownFailure(act: () => unknown): Failure {
  try {
    act()
  } catch (error) {
    if (error instanceof Failure) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

/** As `thrownFailure`, for a promise. */
export async function rejectedFailure(act: () => Promise<unknown>): Promise<Failure> {
  try {
    await act()
  } catch (error) {
    if (error instanceof Failure) return error
    throw error
  }
  throw new Error('nothing was thrown')
}
