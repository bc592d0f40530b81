import type { Database } from '../tables.ts'
import { isConflict, isStaleStatement } from './postgres-errors.ts'

/** How often a transaction begins at most. */
const attempts = 4

/**
 * Has a transaction that was ended for the sake of another one run again: each loses a deadlock
 * without being wrong.
 */
export function retryTransactions(db: Database): Database {
  const begin = db.transaction.bind(db)
  db.transaction = () => {
    const builder = begin()
    const execute = builder.execute.bind(builder)
    builder.execute = (...parameters) => again(() => execute(...parameters))
    return builder
  }
  return db
}

async function again<T>(attempt: () => Promise<T>): Promise<T> {
  for (let count = 1; ; count++) {
    try {
      return await attempt()
    } catch (error) {
      if (count === attempts || !(isConflict(error) || isStaleStatement(error))) throw error
    }
  }
}
