import { createHash } from 'node:crypto'

/** What is known of a text of SQL, found out once. */
export interface Statement {
  /** Of the prepared statement; undefined for one that is sent whole each time. */
  name: string | undefined
  /** Whether it may change what `Store.generation` speaks of. */
  changes: boolean
  /** Whether it can only read: it neither writes nor locks. */
  reads: boolean
}

/** Far more than the service has; lists of values make a text for each length. */
const most = 500

/** Using a key notes the time, and that alone is no change. */
const noted = /^update "api_keys" set "last_used_at" = \$1 where/
const changing =
  /\b(?:insert\s+into|update|delete\s+from)\s+"?(?:settings|api_configuration|api_keys|users)\b/i

const reading = /^\s*select\b(?!.*\bfor (?:no key )?(?:update|share)\b)/is

/** The texts that one process sends. Each is parsed and planned once a connection, under a name of its own. */
export class Statements {
  readonly #known = new Map<string, Statement>()
  #round = 0

  of(sql: string): Statement {
    const known = this.#known.get(sql)
    if (known) return known
    const digest = createHash('sha256').update(sql).digest('base64url').slice(0, 22)
    const statement = {
      name: this.#known.size < most ? `c${this.#round}_${digest}` : undefined,
      changes: changing.test(sql) && !noted.test(sql),
      reads: reading.test(sql),
    }
    if (statement.name !== undefined) this.#known.set(sql, statement)
    return statement
  }

  /** Has everything prepared anew under other names: the tables are not what they were. */
  renew(): void {
    this.#round += 1
    this.#known.clear()
  }
}
