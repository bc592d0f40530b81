import type { Store } from '../store/store.ts'

/** How what is done on the service's own machine gets at the data. */
export interface DataAccess {
  /** Makes the data when there is none. */
  open(): Promise<Store>
  /** Leaves a place without data as it is. */
  openExisting(): Promise<Store | undefined>
  /** @throws Failure `storage` where the work fails because of the data */
  guarded<T>(work: () => Promise<T>): Promise<T>
}
