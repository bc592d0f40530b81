import type { Compilable, CompiledQuery, QueryExecutor } from 'kysely'
import type { Database } from './tables.ts'

/** Stands for a value that is known only when the query runs. */
class Placeholder {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

/**
 * A query that is compiled once for each engine: Kysely takes longer to compile one than SQLite to
 * run it.
 *
 * @param build is given a value for each name, to be used as a value of the query alone
 * @returns what runs the query, inside of a transaction too
 */
export function prepareQuery<Row, Name extends string>(
  names: readonly Name[],
  build: (db: Database, value: Record<Name, string>) => Compilable<Row>,
): (db: Database, values: Record<Name, string | number>) => Promise<Row[]> {
  const compiled = new WeakMap<QueryExecutor['adapter'], CompiledQuery<Row>>()
  const placeholders = Object.fromEntries(names.map((name) => [name, new Placeholder(name)]))
  return async (db, values) => {
    const { adapter } = db.getExecutor()
    let query = compiled.get(adapter)
    if (!query) {
      query = build(db, placeholders as never).compile()
      compiled.set(adapter, query)
    }
    const parameters = query.parameters.map((given) =>
      given instanceof Placeholder ? values[given.name as Name] : given,
    )
    return (await db.executeQuery<Row>({ ...query, parameters })).rows
  }
}
