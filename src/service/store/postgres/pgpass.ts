import { readFile, stat } from 'node:fs/promises'
import { join, win32 } from 'node:path'
import { Directories } from '../../../system/files/directories.ts'

/** The connection that the password is for. */
export interface PasswordOwner {
  host: string
  port: number
  database: string
  user: string
}

/**
 * The password from the password file of libpq, `$PGPASSFILE`, or `~/.pgpass` or, on Windows,
 * `%APPDATA%\postgresql\pgpass.conf`: lines of
 * `host:port:database:user:password`, in which `*` matches anything and `\` escapes. pg would read it with
 * a deprecation warning on stderr.
 * @returns undefined without a matching line, or if other users may access the file, as in libpq
 */
export async function readPasswordFile(
  owner: PasswordOwner,
  env: NodeJS.ProcessEnv,
  platform: NodeJS.Platform = process.platform,
): Promise<string | undefined> {
  try {
    const file = env['PGPASSFILE'] ?? passwordFile(env, platform)
    const { mode } = await stat(file)
    if (platform !== 'win32' && (mode & 0o077) !== 0) return undefined
    return findPassword(await readFile(file, 'utf8'), owner)
  } catch {
    return undefined
  }
}

/** PostgreSQL manual, section 32.16. @throws if it needs a home directory and the user has none */
export function passwordFile(env: NodeJS.ProcessEnv, platform: NodeJS.Platform): string {
  const directories = new Directories(env, platform)
  return platform === 'win32'
    ? win32.join(directories.applicationData, 'postgresql', 'pgpass.conf')
    : join(directories.home, '.pgpass')
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
