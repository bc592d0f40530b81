import type { Compilable, CompiledQuery } from 'kysely'
import type { Database } from './tables.ts'

/** A placeholder for a value while a query is compiled. */
class Placeholder {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

/** The adapter of an engine whose reads need no connection of Kysely, which costs as much as the query. */
export interface ReadingAdapter {
  /** Reads committed data. Not for a transaction. */
  read<Row>(sql: string, parameters: readonly unknown[]): Row[]
}

const placeholders = new Proxy({}, { get: (_, name) => new Placeholder(String(name)) })

const canRead = (adapter: object): adapter is ReadingAdapter => 'read' in adapter

/**
 * A query that is compiled only once for each engine, because compiling costs more than running it. Only
 * the values may differ between runs, so `build` must not depend on them.
 * @returns runs the query, on a database or in a transaction; the rows immediately if the engine can read them so
 */
export function prepareQuery<Row, Values extends object>(
  build: (db: Database, values: Values) => Compilable<Row>,
): (db: Database, values: Values) => Row[] | Promise<Row[]> {
  const compiled = new WeakMap<object, CompiledQuery<Row>>()
  return (db, values) => {
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
    const isRead = query.query.kind === 'SelectQueryNode'
    if (isRead && !db.isTransaction && canRead(adapter)) return adapter.read<Row>(query.sql, parameters)
    return db.executeQuery<Row>({ ...query, parameters }).then(({ rows }) => rows)
  }
}
