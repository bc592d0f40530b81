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

/** The edge of the machine, and the one thing here that is pretended. */
const clock =
  (how: WrongClock): ((world: World) => void) =>
  (world) => {
    world.clock = how
  }

const badOption: Surrounding['ends'] = (call) => (needsOptions(call) ? [2] : 'fine')

/** By then the session of the browser is over. */
const sessionEnds: Surrounding['ends'] = ({ name }) =>
  commandOf(name) === 'service:sessions:revoke' ? [0, 6] : 'fine'

export const environment: readonly Surrounding[] = [
  { name: 'a locale without UTF-8', make: set({ LANG: undefined, LC_ALL: 'C' }), ends: () => 'fine' },
  { name: 'no locale', make: set({ LANG: undefined, LC_ALL: 'POSIX' }), ends: () => 'fine' },
  { name: 'a terminal that is dumb', make: set({ TERM: 'dumb' }), ends: () => 'fine', isPlain: true },
  { name: 'a terminal without a name', make: set({ TERM: '' }), ends: () => 'fine' },
  { name: 'NO_COLOR', make: set({ NO_COLOR: '1' }), ends: () => 'fine' },
  { name: 'FORCE_COLOR', make: set({ FORCE_COLOR: '1' }), ends: () => 'fine' },
  { name: '20 columns', make: wide(20), ends: () => 'fine' },
  { name: '1 column', make: wide(1), ends: () => 'fine' },
  { name: '300 columns', make: wide(300), ends: () => 'fine' },
  { name: 'a terminal whose size nobody knows', make: wide(0), ends: () => 'fine' },
  {
    name: 'no PATH',
    make: set({ PATH: '/nowhere' }),
    forms: ['pipe', 'JSON'],
    ends: () => 'fine',
  },
  { name: 'a time zone that is none', make: set({ TZ: 'Nowhere/At_all' }), ends: () => 'fine' },
  {
    name: 'a proxy that is none',
    make: set({ HTTP_PROXY: 'not an address', HTTPS_PROXY: 'not an address' }),
    ends: () => [0, 2],
  },
  {
    name: 'a profile that is not there',
    make: set({ CHATCTL_PROFILE: 'nowhere' }),
    // Those that make profiles, or list them, do not need one.
    ends: (call) =>
      /^(auth:(list|login|logout|use)|config:set)/.test(call.name) ? [0, 2, 3] : badOption(call, 'pipe'),
  },
  { name: 'a time-out that is none', make: set({ CHATCTL_TIMEOUT: 'soon' }), ends: badOption },
  {
    name: 'a form that is none',
    make: set({ CHATCTL_OUTPUT: 'xml' }),
    forms: ['terminal', 'pipe'],
    ends: badOption,
  },
  {
    name: 'an address that is none',
    make: set({ CHATCTL_BASE_URL: 'not an address' }),
    ends: badOption,
  },
  {
    name: 'the credential is in a keychain, and there is none',
    make: ({ home }) => {
      const path = join(home, '.config', 'chatctl', 'config.json')
      const { profiles, ...rest } = JSON.parse(readFileSync(path, 'utf8'))
      const work = { base_url: profiles.work.base_url }
      writeFileSync(path, JSON.stringify({ ...rest, profiles: { work } }))
    },
    ends: (call) =>
      needsCredential(call) || /^auth:logout(?! with (nonsense|empty))/.test(call.name) ? [4] : 'fine',
  },
  { name: 'a clock ten years ahead', make: clock('ahead'), ends: sessionEnds },
  { name: 'a clock that stands at 1970', make: clock('1970'), ends: () => 'fine' },
  { name: 'a clock that jumps back an hour', make: clock('jumps back'), ends: () => 'fine' },
  { name: 'a clock that jumps ahead a day', make: clock('jumps ahead'), ends: sessionEnds },
  { name: 'nothing is wrong', make: () => {}, ends: () => 'fine' },
]
