/**
 * Whether a terminal may be shown more than ASCII. POSIX, 8.2: the first of these that is set and not empty. Windows says it nowhere,
 * and is UTF-8 to Node.
 */
export function speaksUnicode(env: NodeJS.ProcessEnv): boolean {
  if (process.platform === 'win32') return true
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || ''
  return /utf-?8/i.test(locale)
}
