import type { Compilable, CompiledQuery } from 'kysely'
import type { Database } from './tables.ts'

/** A placeholder for a value while a query is compiled. */
class Placeholder {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

const placeholders = new Proxy({}, { get: (_, name) => new Placeholder(String(name)) })

/**
 * A query that is compiled only once for each engine, because compiling costs more than running it. Only
 * the values may differ between runs, so `build` must not depend on them.
 * @returns runs the query, on a database or in a transaction
 */
export function prepareQuery<Row, Values extends object>(
  build: (db: Database, values: Values) => Compilable<Row>,
): (db: Database, values: Values) => Promise<Row[]> {
  const compiled = new WeakMap<object, CompiledQuery<Row>>()
  return async (db, values) => {
    // All transactions of an engine share its adapter.
    const { adapter } = db.getExecutor()
    let query = compiled.get(adapter)
    if (!query) {
      query = build(db, placeholders as Values).compile()
      compiled.set(adapter, query)
    }
    const parameters = query.parameters.map((value) =>
      value instanceof Placeholder ? values[value.name as keyof Values] : value,
    )
    return (await db.executeQuery<Row>({ ...query, parameters })).rows
  }
}
