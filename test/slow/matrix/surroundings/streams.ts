import { existsSync } from 'node:fs'
import { commandOf } from '../../../support/command-lines.ts'
import type { Call } from '../calls.ts'
import type { Form } from '../forms.ts'
import type { World } from '../world.ts'
import type { Surrounding } from './surrounding.ts'

const redirect =
  (redirections: string): ((world: World) => void) =>
  (world) => {
    world.redirections = redirections
  }

const away: readonly Form[] = ['pipe', 'JSON']
const hasFullDevice = (): boolean => existsSync('/dev/full')

/**
 * A call that would succeed fails if it cannot print its output. A call that prints nothing does not notice.
 */
const unsaid = ({ fine }: Call, form: Form): readonly number[] =>
  fine[form] === 0 ? [0, 1] : [1, fine[form]]

/** If the reader has gone, the call may end as usual or with success. */
/** The program of `exec` may be ended by SIGPIPE. */
const unread = ({ name, fine }: Call, form: Form): readonly number[] =>
  commandOf(name) === 'exec' ? [0, 141] : [0, fine[form]]

/** Whether stdin is essential to the call. */
const readsStdin = ({ stdin }: Call): boolean => stdin !== undefined

export const streams: readonly Surrounding[] = [
  { name: 'stdout is closed', make: redirect('>&-'), forms: away, ends: unsaid },
  {
    name: 'stdout is full',
    make: redirect('>/dev/full'),
    isPossible: hasFullDevice,
    forms: away,
    ends: unsaid,
  },
  {
    name: 'stdout has no reader',
    make: (world) => {
      world.reader = 'is gone'
    },
    forms: away,
    ends: unread,
  },
  {
    name: 'the reader of stdout leaves after the first bytes',
    make: (world) => {
      world.reader = 'goes after the first bytes'
    },
    forms: away,
    ends: unread,
  },
  { name: 'stderr is closed', make: redirect('2>&-'), ends: () => 'fine' },
  { name: 'stderr is full', make: redirect('2>/dev/full'), isPossible: hasFullDevice, ends: () => 'fine' },
  {
    name: 'stdin is closed',
    make: redirect('<&-'),
    forms: away,
    ends: (call) => (readsStdin(call) ? [0, 1, 2, 3, 4] : 'fine'),
  },
  {
    name: 'stdin is a directory',
    make: redirect('</'),
    forms: away,
    ends: (call) => (readsStdin(call) ? [1, 2, 3] : takesText(call) ? [0, 2] : 'fine'),
  },
  {
    name: 'stdin, stdout, and stderr are closed',
    make: redirect('<&- >&- 2>&-'),
    forms: away,
    ends: () => [0, 1, 2, 3, 4],
  },
]

/** Whether text on stdin is added to the text of the argument. */
function takesText({ name }: Call): boolean {
  return /^chat:(send|complete)/.test(name)
}
