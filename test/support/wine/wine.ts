import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { promisify } from 'node:util'
import { executableFor } from '../executable.ts'
import { perSuite } from '../lifetime.ts'
import type { Run, RunOptions } from '../run-chatctl.ts'
import type { Sandbox } from '../sandbox.ts'

/** The Debian with Wine of scripts/prepare-wine. */
const root = '/var/cache/chatctl-wine/root'

const source = join(import.meta.dirname, 'start-program.c')
const compiler = 'x86_64-w64-mingw32-gcc'

/** Milliseconds until a run is abandoned. */
const patience = 30_000

export interface WineOptions extends RunOptions {
  /** Whether the program has a console, without which it is impossible to press Ctrl-C. */
  hasConsole?: boolean
}

export interface WineProgram {
  stdin: Writable
  written(): Pick<Run, 'stdout' | 'stderr'>
  /** Presses Ctrl-C, if the program has a console. */
  interrupt(): void
  ended: Promise<Run>
}

/**
 * Call it inside a describe. Starts a machine for the suite, with the executable for Windows. Without Wine, the
 * tests are skipped, but not in CI.
 */
export function startWine(): Wine {
  const obstacle = whyNoWine()
  if (obstacle === undefined) return perSuite(startWithExecutable)
  before(obstacle, function () {
    if (process.env['CI']) throw new Error(obstacle)
    this.skip()
  })
  return {} as Wine
}

async function startWithExecutable(): Promise<Wine> {
  const machine = await Wine.start()
  try {
    return machine.with(await executableFor('win-x64', machine.launcher))
  } catch (error) {
    await machine.close()
    throw error
  }
}

/** Text to append to a title. It says why the tests are skipped. */
export const leftOut = whyNoWine() === undefined ? '' : `; skipped: ${whyNoWine()}`

/** Why Wine cannot run here; undefined if it can. */
function whyNoWine(): string | undefined {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'Wine runs on Linux for x64 here'
  if (process.getuid?.() !== 0) return 'mounting the file system of Wine needs root'
  if (!existsSync(root)) return 'run scripts/install-system-deps to install Wine'
  return undefined
}

export function windowsPath(path: string): string {
  return `Z:${path.replaceAll('/', '\\')}`
}

/**
 * A Windows machine of one test file, which nothing survives: its disk is an overlay in memory, its mounts
 * and processes are in their own namespaces. Drive Z: has the temporary directory and the project.
 */
export class Wine {
  readonly #machine: ChildProcess
  readonly #directory: string
  readonly #pid: string
  /** The path of the program for Windows. */
  readonly program: string

  private constructor(machine: ChildProcess, directory: string, pid: string, program: string) {
    this.#machine = machine
    this.#directory = directory
    this.#pid = pid
    this.program = program
  }

  /** Starts a machine, whose program is not known yet. */
  static async start(): Promise<Wine> {
    const directory = mkdtempSync(join(tmpdir(), 'chatctl-wine-'))
    await promisify(execFile)(compiler, [
      '-municode',
      '-Os',
      '-s',
      '-o',
      join(directory, 'start.exe'),
      source,
    ])
    const disk = join(directory, 'disk')
    mkdirSync(disk)
    const binds = [tmpdir(), join(import.meta.dirname, '../../..')]
    const machine = spawn(
      'unshare',
      [
        '--mount',
        '--pid',
        '--fork',
        '--propagation',
        'private',
        'sh',
        '-euc',
        boot,
        'sh',
        root,
        disk,
        ...binds,
      ],
      { stdio: ['pipe', 'pipe', 'inherit'] },
    )
    const [ready] = (await Promise.race([once(machine.stdout, 'data'), once(machine, 'close')])) as [unknown]
    if (String(ready) !== 'ready\n') throw new Error(`Wine did not start: ${ready}`)
    const pid = readFileSync(`/proc/${machine.pid}/task/${machine.pid}/children`, 'utf8').trim()
    return new Wine(machine, directory, pid, '')
  }

  /** The same machine, to run this program for Windows. */
  with(program: string): Wine {
    return new Wine(this.#machine, this.#directory, this.#pid, program)
  }

  async close(): Promise<void> {
    const closed = once(this.#machine, 'close')
    this.#machine.stdin?.end()
    await closed
    rmSync(this.#directory, { recursive: true, force: true })
  }

  /** Runs the program to its end, with pipes. */
  async run(sandbox: Sandbox, args: readonly string[], options: WineOptions = {}): Promise<Run> {
    const { stdin, ended } = this.startProgram(sandbox, args, options)
    stdin.end(options.stdin ?? '')
    return await ended
  }

  /** Starts the program with pipes. The caller writes its stdin. */
  startProgram(sandbox: Sandbox, args: readonly string[], options: WineOptions = {}): WineProgram {
    const { hasConsole = false, timeout = patience } = options
    const interrupt = join(this.#directory, `interrupt-${randomUUID()}`)
    const own = hasConsole ? ['--interrupt', windowsPath(interrupt)] : []
    const [command = '', ...words] = this.#command(sandbox, args, options, own)
    const child = spawn(command, words, { stdio: 'pipe' })
    child.stdin.on('error', () => {})
    const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)]
    const ended = new Promise<Run>((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`${args.join(' ')} has not ended; there was:\n${stdout()}${stderr()}`)),
        timeout,
      )
      // Not `close`: Wine's console process inherits stderr, and may outlive the program. What was written before the
      // exit is read in the next poll phase of the event loop.
      child.once('exit', async (exitCode) => {
        clearTimeout(timer)
        await nextTurn()
        await nextTurn()
        resolve({ exitCode, stdout: stdout(), stderr: stderr() })
      })
    })
    return {
      stdin: child.stdin,
      written: () => ({ stdout: stdout(), stderr: stderr() }),
      interrupt: () => writeFileSync(interrupt, ''),
      ended,
    }
  }

  /** The words that start a program for Windows, which uses the same environment and paths as on Linux. */
  get launcher(): string[] {
    return [
      ...this.#enter,
      'env',
      '--chdir=/',
      ...unixEnvironment,
      'wine',
      join(this.#directory, 'start.exe'),
      '--',
    ]
  }

  /** The command that runs the program in a terminal, where its console is. */
  terminalCommand(sandbox: Sandbox, args: readonly string[], options: RunOptions = {}): string[] {
    return this.#command(sandbox, args, options, ['--console'])
  }

  get #enter(): string[] {
    return ['nsenter', `--target=${this.#pid}`, '--mount', '--pid', '--root', '--wd=/']
  }

  #command(
    sandbox: Sandbox,
    args: readonly string[],
    { env, cwd = sandbox.home }: RunOptions,
    own: readonly string[] = [],
  ): string[] {
    const variables = Object.entries({ ...windowsEnvironment(sandbox), ...env })
    return [
      ...this.#enter,
      ...[
        'env',
        '-i',
        `--chdir=${cwd}`,
        ...unixEnvironment,
        'wine',
        join(this.#directory, 'start.exe'),
        ...own,
      ],
      ...variables.map(([name, value]) => `${name}=${value ?? ''}`),
      ...['--', windowsPath(this.program), ...args],
    ]
  }
}

/** What Wine itself needs. */
const unixEnvironment = [
  'LANG=C.UTF-8',
  'HOME=/root',
  'PATH=/usr/bin:/bin',
  'XDG_RUNTIME_DIR=/tmp',
  'WINEDEBUG=-all',
]

/** Starts the Wine server, and ends with all processes at the end of stdin. */
const boot = `
root=$1 disk=$2
shift 2
mount -t tmpfs tmpfs "$disk"
mkdir "$disk/upper" "$disk/work" "$disk/root"
mount -t overlay overlay -o "lowerdir=$root,upperdir=$disk/upper,workdir=$disk/work" "$disk/root"
mount -t proc proc "$disk/root/proc"
mount --rbind /dev "$disk/root/dev"
for directory; do
  mkdir -p "$disk/root$directory"
  mount --bind "$directory" "$disk/root$directory"
done
exec chroot "$disk/root" env -i ${unixEnvironment.join(' ')} sh -euc '
  wineserver --persistent
  wine cmd /c exit
  echo ready
  exec cat >/dev/null'
`

/** The variables of a sandbox as Windows has them. */
function windowsEnvironment({ env }: Sandbox): NodeJS.ProcessEnv {
  const { USERPROFILE, APPDATA, LOCALAPPDATA, TZ } = env
  const paths = { USERPROFILE, APPDATA, LOCALAPPDATA }
  return {
    ...Object.fromEntries(Object.entries(paths).map(([name, path]) => [name, path && windowsPath(path)])),
    TZ,
    // Shared by the runs of one machine, as all runs of a person share it.
    XDG_CACHE_HOME: 'C:\\cache',
  }
}

function collect(stream: NodeJS.ReadableStream): () => string {
  const chunks: Buffer[] = []
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  return () => Buffer.concat(chunks).toString('utf8')
}
