import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { commandOf } from '../../../support/command-lines.ts'
import type { World } from '../world.ts'
import type { WrongClock } from '../wrong-clock.ts'
import { needsCredential, needsOptions } from './needs.ts'
import type { Surrounding } from './surrounding.ts'

const set =
  (env: NodeJS.ProcessEnv): ((world: World) => void) =>
  (world) => {
    world.env = { ...world.env, ...env }
  }

const wide =
  (columns: number): ((world: World) => void) =>
  (world) => {
    world.columns = columns
  }

/** The system clock, the only part of the machine that is simulated. */
const clock =
  (how: WrongClock): ((world: World) => void) =>
  (world) => {
    world.clock = how
  }

const badOption: Surrounding['ends'] = (call) => (needsOptions(call) ? [2] : 'fine')

/** By then the browser session has expired. */
const sessionEnds: Surrounding['ends'] = ({ name }) =>
  commandOf(name) === 'service:sessions:revoke' ? [0, 6] : 'fine'

export const environment: readonly Surrounding[] = [
  { name: 'a locale without UTF-8', make: set({ LANG: undefined, LC_ALL: 'C' }), ends: () => 'fine' },
  { name: 'no locale', make: set({ LANG: undefined, LC_ALL: 'POSIX' }), ends: () => 'fine' },
  {
    name: 'a dumb terminal',
    make: set({ TERM: 'dumb' }),
    // A session needs one that can move the cursor.
    ends: ({ name }) => (commandOf(name) === 'chat' ? [2] : 'fine'),
    isPlain: true,
  },
  { name: 'an empty TERM', make: set({ TERM: '' }), ends: () => 'fine' },
  { name: 'NO_COLOR', make: set({ NO_COLOR: '1' }), ends: () => 'fine' },
  { name: 'FORCE_COLOR', make: set({ FORCE_COLOR: '1' }), ends: () => 'fine' },
  { name: '20 columns', make: wide(20), ends: () => 'fine' },
  { name: '1 column', make: wide(1), ends: () => 'fine' },
  { name: '300 columns', make: wide(300), ends: () => 'fine' },
  { name: 'a terminal of unknown size', make: wide(0), ends: () => 'fine' },
  {
    name: 'no PATH',
    make: set({ PATH: '/nowhere' }),
    forms: ['pipe', 'JSON'],
    ends: ({ name }) =>
      commandOf(name) === 'exec' ? [127] : name.endsWith('--password-command') ? [9] : 'fine',
  },
  { name: 'an invalid time zone', make: set({ TZ: 'Nowhere/At_all' }), ends: () => 'fine' },
  {
    name: 'an invalid proxy',
    make: set({ HTTP_PROXY: 'not an address', HTTPS_PROXY: 'not an address' }),
    ends: () => [0, 2],
  },
  {
    name: 'a profile that does not exist',
    make: set({ CHATCTL_PROFILE: 'nowhere' }),
    // Commands that create or list profiles, or list records of any profile, do not need this one.
    ends: (call) =>
      /^(activity|auth:(list|login|logout|remove|rename|use)|config:set)/.test(call.name)
        ? [0, 2, 3]
        : badOption(call, 'pipe'),
  },
  { name: 'an invalid timeout', make: set({ CHATCTL_TIMEOUT: 'soon' }), ends: badOption },
  {
    name: 'an invalid output format',
    make: set({ CHATCTL_OUTPUT: 'xml' }),
    forms: ['terminal', 'pipe'],
    ends: badOption,
  },
  { name: 'an invalid base URL', make: set({ CHATCTL_BASE_URL: 'not an address' }), ends: badOption },
  {
    name: 'the credential is in a keychain that does not exist',
    make: ({ home }) => {
      const path = join(home, '.config', 'chatctl', 'config.json')
      const { profiles, ...rest } = JSON.parse(readFileSync(path, 'utf8'))
      const work = { base_url: profiles.work.base_url }
      writeFileSync(path, JSON.stringify({ ...rest, profiles: { work } }))
    },
    // `auth logout --all` finds nothing to sign out of.
    ends: (call) => (needsCredential(call) ? [4] : 'fine'),
  },
  { name: 'a clock ten years ahead', make: clock('ahead'), ends: sessionEnds },
  { name: 'a clock that starts at 1970', make: clock('1970'), ends: () => 'fine' },
  { name: 'a clock that jumps back an hour', make: clock('jumps back'), ends: () => 'fine' },
  { name: 'a clock that jumps ahead a day', make: clock('jumps ahead'), ends: sessionEnds },
  { name: 'nothing is wrong', make: () => {}, ends: () => 'fine' },
  // A secret that is missing in CI.
  { name: 'an empty CHATCTL_APPROVERS', make: set({ CHATCTL_APPROVERS: '' }), ends: badOption },
  { name: 'an empty CHATCTL_SEAL_KEY', make: set({ CHATCTL_SEAL_KEY: '' }), ends: () => 'fine' },
]
