import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Directories } from '../../../system/directories.ts'

/** The connection that the password is for. */
export interface PasswordOwner {
  host: string
  port: number
  database: string
  user: string
}

/**
 * The password from the password file of libpq, `$PGPASSFILE` or `~/.pgpass`: lines of
 * `host:port:database:user:password`, in which `*` matches anything and `\` escapes. pg would read it with
 * a deprecation warning on stderr.
 * @returns undefined without a matching line, or if other users may access the file, as in libpq
 */
export async function readPasswordFile(
  owner: PasswordOwner,
  env: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  try {
    const file = env['PGPASSFILE'] ?? join(new Directories(env).home, '.pgpass')
    const { mode } = await stat(file)
    if (process.platform !== 'win32' && (mode & 0o077) !== 0) return undefined
    return findPassword(await readFile(file, 'utf8'), owner)
  } catch {
    return undefined
  }
}

/** The password of the first line that matches. */
export function findPassword(
  text: string,
  { host, port, database, user }: PasswordOwner,
): string | undefined {
  // A Unix socket also matches localhost, as in libpq for the default socket directory.
  const hosts = host.startsWith('/') ? [host, 'localhost'] : [host]
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith('#')) continue
    const fields = [...line.matchAll(/((?:\\.|[^:\\])*)(?::|$)/g)].map(([, field = '']) =>
      field.replaceAll(/\\(.)/g, '$1'),
    )
    const [ofHost, ofPort, ofDatabase, ofUser, password] = fields
    const fits =
      (ofHost === '*' || hosts.includes(ofHost ?? '')) &&
      (ofPort === '*' || ofPort === String(port)) &&
      (ofDatabase === '*' || ofDatabase === database) &&
      (ofUser === '*' || ofUser === user)
    if (fits && password !== undefined) return password
  }
  return undefined
}
