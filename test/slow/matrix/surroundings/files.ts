import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { commandOf } from '../../../support/command-lines.ts'
import type { World } from '../world.ts'
import {
  keepsSomething,
  namesFile,
  needsConfiguration,
  needsCredential,
  needsData,
  needsOptions,
  needsState,
  writesHere,
} from './needs.ts'
import { canLosePermissions, loseRoot, makeReadOnly, type Surrounding } from './surrounding.ts'

const configurationFile = ({ home }: World): string => join(home, '.config', 'chatctl', 'config.json')
const dataDirectory = ({ home }: World): string => join(home, '.local', 'share', 'chatctl')
const databaseFile = (world: World): string => join(dataDirectory(world), 'chatctl.db')
const credentialDirectory = (world: World): string => join(dataDirectory(world), 'credentials')

function credentialFile(world: World): string {
  return join(credentialDirectory(world), readdirSync(credentialDirectory(world))[0] ?? '')
}

function replaceByDirectory(path: string): void {
  rmSync(path, { recursive: true })
  mkdirSync(path)
}

function replaceByFile(path: string): void {
  rmSync(path, { recursive: true, force: true })
  writeFileSync(path, 'in the way')
}

/** How each call ends if the configuration file is unusable. */
const badConfiguration: Surrounding['ends'] = (call) => (needsConfiguration(call) ? [2] : 'fine')

/** How each call ends if the credential is unusable. */
const badCredential: Surrounding['ends'] = (call) => (needsCredential(call) ? [4] : 'fine')

/** How each call ends if the database is unusable. */
const badData: Surrounding['ends'] = (call) =>
  call.name === 'service:restore' ? [0, 1] : needsData(call) ? [1] : 'fine'

export const files: readonly Surrounding[] = [
  {
    name: 'the configuration file is not JSON',
    make: (world) => writeFileSync(configurationFile(world), '{ "profiles": '),
    ends: badConfiguration,
  },
  {
    name: 'the configuration file is empty',
    make: (world) => writeFileSync(configurationFile(world), ''),
    ends: badConfiguration,
  },
  {
    name: 'the configuration file is of a newer version',
    make: (world) => {
      const now = JSON.parse(readFileSync(configurationFile(world), 'utf8'))
      writeFileSync(configurationFile(world), JSON.stringify({ ...now, schema: 9 }))
    },
    ends: badConfiguration,
  },
  {
    name: 'the configuration file is a directory',
    make: (world) => replaceByDirectory(configurationFile(world)),
    ends: badConfiguration,
  },
  {
    name: 'the configuration file is not readable',
    isPossible: canLosePermissions,
    make: (world) => {
      loseRoot(world)
      chmodSync(configurationFile(world), 0)
    },
    ends: badConfiguration,
  },
  {
    name: 'the credential is truncated',
    make: (world) => writeFileSync(credentialFile(world), '{"version":1,'),
    ends: badCredential,
  },
  {
    name: 'the credential is of a newer version',
    make: (world) => writeFileSync(credentialFile(world), '{"version":9,"kind":"new"}'),
    ends: badCredential,
  },
  {
    name: 'the credential is readable by other users',
    make: (world) => chmodSync(credentialFile(world), 0o644),
    // Signing in does not replace it either, because another user may have read the old one.
    ends: (call) => (needsCredential(call) || /^auth:login/.test(call.name) ? [4] : 'fine'),
  },
  {
    name: 'the credential does not exist',
    make: (world) => rmSync(credentialFile(world)),
    ends: (call) => (needsCredential(call) ? [4] : 'fine'),
  },
  {
    name: 'the database is not in SQLite format',
    make: (world) => writeFileSync(databaseFile(world), 'this is no database, but a text of some length'),
    ends: badData,
  },
  {
    name: 'the database is truncated',
    make: (world) =>
      writeFileSync(databaseFile(world), readFileSync(databaseFile(world)).subarray(0, 10_000)),
    ends: badData,
  },
  {
    name: 'the database is a directory',
    make: (world) => replaceByDirectory(databaseFile(world)),
    ends: badData,
  },
  {
    name: 'the data directory is a file',
    make: (world) => replaceByFile(dataDirectory(world)),
    ends: (call) => {
      if (/^(history:(sync|export)|chat:send with valid --continue|chat with valid --resume)/.test(call.name))
        return [1]
      if (needsCredential(call)) return [4]
      if (keepsSomething(call) || /^(chat:(show|sessions)|history:search)/.test(call.name)) return [0, 1]
      return needsData(call) ? [1] : 'fine'
    },
  },
  {
    name: 'the state directory is a file',
    make: ({ home }) => {
      mkdirSync(join(home, '.local', 'state'), { recursive: true })
      replaceByFile(join(home, '.local', 'state', 'chatctl'))
    },
    ends: (call) => {
      // Nothing was ever recorded there.
      if (/^settings:(api:get|revert)/.test(call.name)) return [6]
      return needsState(call) || call.name.startsWith('auth:login') ? [1] : 'fine'
    },
  },
  {
    name: 'the cache directory is a file',
    make: (world) => {
      delete world.env['XDG_CACHE_HOME']
      replaceByFile(join(world.home, '.cache'))
    },
    ends: () => 'fine',
  },
  {
    name: 'the files that the call names do not exist',
    make: ({ here }) => {
      for (const name of readdirSync(here)) rmSync(join(here, name))
    },
    ends: (call) => (namesFile(call) ? [2] : 'fine'),
  },
  {
    name: 'the files that the call names are directories',
    make: ({ here }) => {
      for (const name of readdirSync(here)) replaceByDirectory(join(here, name))
    },
    ends: (call) => (namesFile(call) ? [1, 2] : 'fine'),
  },
  {
    name: 'the files that the call names are empty',
    make: ({ here }) => {
      for (const name of readdirSync(here)) writeFileSync(join(here, name), '')
    },
    ends: (call) => (namesFile(call) ? [0, 1, 2] : 'fine'),
  },
  {
    name: 'the files that the call names contain random bytes',
    make: ({ here }) => {
      const bytes = Buffer.from('fffe00c328a0a1e28ca1f0288cbc0080ff0a', 'hex')
      for (const name of readdirSync(here)) writeFileSync(join(here, name), bytes)
    },
    ends: (call) => (namesFile(call) ? [1, 2] : 'fine'),
  },
  {
    name: 'the home directory is read-only',
    isPossible: canLosePermissions,
    make: (world) => {
      loseRoot(world)
      delete world.env['XDG_CACHE_HOME']
      makeReadOnly(world.home)
    },
    ends: (call) => (keepsSomething(call) || needsData(call) || needsState(call) ? [0, 1] : 'fine'),
  },
  {
    name: 'the home directory does not exist and cannot be created',
    make: (world) => {
      const file = join(world.root, 'here', 'password.txt')
      world.env = { ...world.env, HOME: join(file, 'home'), XDG_CACHE_HOME: undefined }
    },
    ends: (call) => (!needsConfiguration(call) ? 'fine' : [0, 1, 2, 3, 4, 6, 7]),
  },
  {
    name: 'HOME is not set and the user is unknown',
    isPossible: () => process.getuid?.() === 0 && canLosePermissions(),
    make: (world) => {
      loseRoot(world)
      world.env = { ...world.env, HOME: undefined, XDG_CACHE_HOME: undefined }
    },
    ends: (call) => (needsOptions(call) ? [2] : 'fine'),
  },
  {
    name: 'the working directory was deleted',
    make: (world) => {
      world.isHereDeleted = true
    },
    ends: (call) => {
      if (namesFile(call)) return [1, 2]
      // A package of the sign-in, which a service loads at its start, reads the working directory.
      return writesHere(call) || commandOf(call.name) === 'service:run' ? [1] : 'fine'
    },
  },
  {
    name: 'TMPDIR does not exist',
    make: (world) => {
      world.env = { ...world.env, TMPDIR: join(world.root, 'no', 'such', 'directory') }
    },
    ends: (call) => (commandOf(call.name) === 'settings:edit' ? [1] : 'fine'),
  },
  {
    name: 'XDG directories are relative',
    make: (world) => {
      const relative = { XDG_CONFIG_HOME: 'a', XDG_DATA_HOME: './b', XDG_STATE_HOME: '../c' }
      world.env = { ...world.env, ...relative, XDG_CACHE_HOME: 'd' }
    },
    ends: () => 'fine',
  },
]
