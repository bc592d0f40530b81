export interface NamedFilePlace {
  args(path: string): string[]
  env?(path: string): NodeJS.ProcessEnv
  exitCode: number
  max: string
}

/** Everything that names a file for chatctl to read whole. */
export const namedFilePlaces: Record<string, NamedFilePlace> = {
  CHATCTL_API_KEY_FILE: {
    args: () => ['chat', 'models'],
    env: (path) => ({ CHATCTL_API_KEY: '', CHATCTL_API_KEY_FILE: path }),
    exitCode: 4,
    max: '64 KiB',
  },
  '--password-file': {
    args: (path) => ['users', 'create', '--password-file', path],
    exitCode: 2,
    max: '64 KiB',
  },
  '--messages': {
    args: (path) => ['chat', 'complete', '--messages', path],
    exitCode: 2,
    max: '64 MiB',
  },
  '--data @FILE': {
    args: (path) => ['api', 'POST', '/v1/users', '--data', `@${path}`],
    exitCode: 2,
    max: '64 MiB',
  },
  'settings set KEY=@FILE': {
    args: (path) => ['settings', 'set', `app_name=@${path}`],
    exitCode: 2,
    max: '4 MiB',
  },
  'settings apply FILE': {
    args: (path) => ['settings', 'apply', path, '--yes'],
    exitCode: 2,
    max: '4 MiB',
  },
  'settings api set --file': {
    args: (path) => ['settings', 'api', 'set', '--file', path],
    exitCode: 2,
    max: '4 MiB',
  },
  '--upstream-key-file': {
    args: (path) => [
      ...['service', 'run', '--port', '0', '--upstream', 'http://127.0.0.1:9/v1'],
      ...['--upstream-key-file', path],
    ],
    exitCode: 2,
    max: '64 KiB',
  },
  '--tls-cert': {
    args: (path) => ['service', 'run', '--port', '0', '--tls-cert', path, '--tls-key', path],
    exitCode: 2,
    max: '1 MiB',
  },
}
