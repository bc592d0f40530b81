import type { Compilable, CompiledQuery } from 'kysely'
import type { Database } from './tables.ts'

/** Stands for a value while a query is compiled. */
class Slot {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

const slots = new Proxy({}, { get: (_, name) => new Slot(String(name)) })

/**
 * A query that is built and compiled once for each engine, which costs more than to run it. Values
 * may differ from one run to the next and nothing else, so `build` must not look at them.
 * @returns runs the query, on a database or in a transaction
 */
export function prepareQuery<Row, Values extends object>(
  build: (db: Database, values: Values) => Compilable<Row>,
): (db: Database, values: Values) => Promise<Row[]> {
  const compiled = new WeakMap<object, CompiledQuery<Row>>()
  return async (db, values) => {
    // An engine has one adapter, which its transactions share.
    const { adapter } = db.getExecutor()
    let query = compiled.get(adapter)
    if (!query) {
      query = build(db, slots as Values).compile()
      compiled.set(adapter, query)
    }
    const parameters = query.parameters.map((value) =>
      value instanceof Slot ? values[value.name as keyof Values] : value,
    )
    return (await db.executeQuery<Row>({ ...query, parameters })).rows
  }
}
