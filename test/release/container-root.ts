import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Why no container root can be entered here; undefined if it can. */
export const obstacle =
  process.platform === 'linux' && process.getuid?.() === 0 ? undefined : 'mounting needs root on Linux'

/** All programs that the action and install.sh may run: no jq, git, gh, or Node.js. */
const tools =
  'awk cat cksum curl dirname env getconf grep gzip mkdir mktemp mv rm rmdir sed sh sha256sum ssh-keygen tar tr uname'

const enter = `mount --rbind /dev "$1/dev"
mount -t proc proc "$1/proc"
mount --bind "$2" "$1$2"
exec /usr/sbin/chroot "$1" sh -c 'cd "$0" && exec sh -e "$1"' "$2" "$3"`

/**
 * The start of a command line that runs a script in an otherwise empty root directory with the tools, their
 * libraries and those of an executable, and a directory of this machine.
 */
export function programInRoot(shared: string, executable: string): [string, ...string[]] {
  const root = mkdtempSync(join(shared, 'root-'))
  const paths = tools.split(' ').map((tool) => `/usr/bin/${tool}`)
  const needed = execFileSync('ldd', [...paths, executable], { encoding: 'utf8' }).matchAll(
    /(?:=> |^\s)(\/\S+) \(/gm,
  )
  for (const path of ['/bin/sh', ...paths, ...Array.from(needed, ([, library = '']) => library)]) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    copyFileSync(path, join(root, path))
  }
  for (const name of ['dev', 'proc', 'etc', shared]) mkdirSync(join(root, name), { recursive: true })
  writeFileSync(join(root, 'etc/passwd'), 'root:x:0:0::/:/bin/sh\n')
  const separate = ['--mount', '--pid', '--fork', '--kill-child', '--propagation', 'private']
  return ['unshare', ...separate, 'sh', '-euc', enter, 'sh', root, shared]
}
