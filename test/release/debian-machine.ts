import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import type { Run } from '../support/run-chatctl.ts'

export const suites = ['bookworm', 'trixie'] as const
export type Suite = (typeof suites)[number]

const cache = '/var/cache/chatctl-debian'

/** Why there is no clean Debian here; undefined if there is. */
export const obstacle =
  process.platform !== 'linux' || process.getuid?.() !== 0
    ? 'mounting the file system of Debian needs root on Linux'
    : suites.every((suite) => existsSync(join(cache, suite)))
      ? undefined
      : 'run scripts/install-system-deps to prepare Debian 12 and 13'

/** The root file system, whose changes are in memory, and a directory of this machine. */
const setUp = `mount -t tmpfs tmpfs "$2"
mkdir "$2/changes" "$2/work" "$2/root"
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/changes,workdir=$2/work" "$2/root"
mount -t proc proc "$2/root/proc"
mount --rbind /dev "$2/root/dev"
mount --bind "$3" "$2/root/mnt"
echo ready
exec sleep infinity`

/** A new installation of Debian. Its changes, mounts, and processes end with it. */
export class DebianMachine {
  readonly #holder: ChildProcess
  readonly #directory: string

  private constructor(holder: ChildProcess, directory: string) {
    this.#holder = holder
    this.#directory = directory
  }

  /** @param shared directory of this machine, mounted at /mnt */
  static async start(suite: Suite, shared: string): Promise<DebianMachine> {
    const directory = mkdtempSync(join(tmpdir(), 'chatctl-debian-'))
    const separate = ['--mount', '--pid', '--fork', '--kill-child', '--propagation', 'private']
    const words = [...separate, 'sh', '-euc', setUp, 'sh', join(cache, suite), directory, shared]
    const holder = spawn('unshare', words, { stdio: ['ignore', 'pipe', 'inherit'] })
    const machine = new DebianMachine(holder, directory)
    const ended = once(holder, 'exit').then(() => [''])
    const [said] = await Promise.race([once(holder.stdout as Readable, 'data'), ended])
    if (String(said).trim() === 'ready') return machine
    machine.remove()
    throw new Error(`Debian ${suite} did not start`)
  }

  /** Runs a script as root, in an empty environment. */
  run(script: string, user = 0): Promise<Run> {
    const id = readFileSync(`/proc/${this.#holder.pid}/task/${this.#holder.pid}/children`, 'utf8').trim()
    const inside = ['chroot', `--userspec=${user}:${user}`, join(this.#directory, 'root')]
    const home = user === 0 ? '/root' : '/home/ada'
    const env = [
      'env',
      '-i',
      `HOME=${home}`,
      'PATH=/usr/sbin:/usr/bin:/sbin:/bin',
      'DEBIAN_FRONTEND=noninteractive',
    ]
    const words = ['--target', id, '--mount', '--pid', ...inside, ...env, 'sh', '-c', script]
    const running = promisify(execFile)('nsenter', words)
    running.child.stdin?.end()
    return running.then(
      ({ stdout, stderr }) => ({ exitCode: 0, stdout, stderr }),
      ({ code, stdout, stderr }) => ({ exitCode: code, stdout, stderr }),
    )
  }

  async remove(): Promise<void> {
    if (this.#holder.exitCode === null && this.#holder.signalCode === null) {
      const ended = once(this.#holder, 'exit')
      this.#holder.kill('SIGKILL')
      await ended
    }
    rmSync(this.#directory, { recursive: true, force: true })
  }
}
