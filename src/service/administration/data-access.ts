import type { Clock } from '../../system/clock.ts'
import { type DataLocation, openExistingStore, openStore } from '../store/open-store.ts'
import { storageFailure } from '../store/storage-failure.ts'
import type { Store } from '../store/store.ts'

/** Opens the data for administration at the first use. */
export interface DataAccess {
  clock: Clock
  /** Creates the database if there is none yet. */
  open(): Promise<Store>
  /** Undefined if there is no data yet; creates nothing. */
  openExisting(): Promise<Store | undefined>
  /** @throws Failure `storage` if the work fails because of the data */
  reportingFailures<T>(work: () => Promise<T>): Promise<T>
  close(): Promise<void>
}

/** @param location see `Store.location` */
export function accessData(where: DataLocation, location: string, clock: Clock): DataAccess {
  let opened: Store | undefined
  return {
    clock,
    async open() {
      opened ??= await openStore(where)
      return opened
    },
    async openExisting() {
      opened ??= await openExistingStore(where)
      return opened
    },
    async reportingFailures(work) {
      try {
        return await work()
      } catch (error) {
        throw storageFailure(error, where.dataDir, location)
      }
    },
    async close() {
      await opened?.close()
      opened = undefined
    },
  }
}
