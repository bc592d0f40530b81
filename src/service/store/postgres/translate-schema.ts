/** Now, as `new Date().toISOString()` writes it. */
const now = `to_char(now() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

/**
 * A migration's SQLite text as PostgreSQL reads it. Integers are 64 bits wide in SQLite. A check of
 * `json_valid` becomes a cast that fails for what is not JSON, and takes what SQLite takes.
 */
export function translateSchema(statements: string): string {
  return statements
    .replaceAll(/^\) strict;$/gm, ');')
    .replaceAll('integer primary key autoincrement', 'bigint generated always as identity primary key')
    .replaceAll(/\binteger\b/g, 'bigint')
    .replaceAll(`strftime('%Y-%m-%dT%H:%M:%fZ', 'now')`, now)
    .replaceAll(/\bjson_valid\((\w+)\)/g, '$1::json is not null')
}
