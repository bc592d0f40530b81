import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SecretService } from '../programs/keychain/secret-service.ts'
import { call, Program, startSessionBus } from '../programs/keychain/session-bus.ts'
import type { Sandbox } from '../support/sandbox.ts'

/** KeePassXC as the Secret Service of a desktop, with one database in the sandbox. */
export interface KeePassXc extends Pick<SecretService, 'env' | 'close'> {
  lock(): Promise<void>
  unlock(): Promise<void>
}

/** Settings of its Secret Service integration. The defaults of KeePassXC are true. */
export interface KeePassXcSettings {
  /** Whether a search in a locked database opens a dialog, and waits for it. */
  unlocksBeforeSearch?: boolean
  /** Whether a dialog asks if a program may read an item that another program stored. */
  confirmsAccess?: boolean
}

const secrets = 'org.freedesktop.secrets'
const collection = '/org/freedesktop/secrets/aliases/default'
const window = ['org.keepassxc.KeePassXC.MainWindow', '/keepassxc'] as const
const password = 'password of the database'

/** Starts KeePassXC with an unlocked, empty database. It does not end with the test: close it. */
export async function startKeePassXc(
  { home, env: own }: Sandbox,
  { unlocksBeforeSearch = true, confirmsAccess = false }: KeePassXcSettings = {},
): Promise<KeePassXc> {
  const bus = await startSessionBus()
  const database = createDatabase(home)
  const settings = join(home, 'keepassxc.ini')
  const integration = {
    Enabled: true,
    ShowNotification: false,
    ConfirmDeleteItem: false,
    ConfirmAccessItem: confirmsAccess,
    UnlockBeforeSearch: unlocksBeforeSearch,
  }
  const lines = Object.entries(integration).map(([name, value]) => `${name}=${value}`)
  writeFileSync(
    settings,
    ['[General]', 'SingleInstance=false', '[GUI]', 'CheckForUpdates=false', '[FdoSecrets]', ...lines].join(
      '\n',
    ),
  )
  const words = ['--config', settings, '--localconfig', join(home, 'local.ini'), '--pw-stdin', database]
  // Qt's platform without a display.
  const env = { ...own, ...bus.env, QT_QPA_PLATFORM: 'offscreen' }
  const program = new Program('keepassxc', words, env, `${password}\n`)
  const ask = (name: string, ...values: string[]) =>
    call(bus.env, window[0], window[1], `${window[0]}.${name}`, ...values)
  const isLocked = () => {
    const property = ['string:org.freedesktop.Secret.Collection', 'string:Locked']
    return call(bus.env, secrets, collection, 'org.freedesktop.DBus.Properties.Get', ...property).includes(
      'true',
    )
  }
  const close = async () => {
    // It would wait for its open dialogs.
    program.signal('SIGKILL')
    await program.end()
    await bus.close()
  }
  try {
    // The collection exists from the time at which the database is open.
    await program.until(() => bus.hasOwner(secrets) && !attempt(isLocked, true))
  } catch (error) {
    await close()
    throw error
  }
  return {
    env: bus.env,
    // It does not lock a database that it has not saved yet.
    lock: () =>
      program.until(() => {
        ask('lockAllDatabases')
        return isLocked()
      }),
    unlock: () => {
      ask('openDatabase', `string:${database}`, `string:${password}`)
      return program.until(() => !isLocked())
    },
    close,
  }
}

function attempt<T>(work: () => T, otherwise: T): T {
  try {
    return work()
  } catch {
    return otherwise
  }
}

/** A database whose root group KeePassXC exposes to other programs, which is a setting in the database. */
function createDatabase(home: string): string {
  const xml = join(home, 'database.xml')
  const database = join(home, 'database.kdbx')
  const group = Buffer.alloc(16, 1)
  const id = group.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
  writeFileSync(
    xml,
    `<KeePassFile>
  <Meta><CustomData><Item><Key>FDO_SECRETS_EXPOSED_GROUP</Key><Value>{${id}}</Value></Item></CustomData></Meta>
  <Root><Group><UUID>${group.toString('base64')}</UUID><Name>Root</Name></Group></Root>
</KeePassFile>`,
  )
  const words = ['import', '--quiet', '--set-password', '--decryption-time', '100', xml, database]
  const { status, stderr, error } = spawnSync('keepassxc-cli', words, {
    env: { PATH: process.env['PATH'], HOME: home },
    encoding: 'utf8',
    input: `${password}\n${password}\n`,
  })
  if (error) throw new Error(`${error.message}: run scripts/install-system-deps`)
  if (status !== 0) throw new Error(stderr)
  return database
}
