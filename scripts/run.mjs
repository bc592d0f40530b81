import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { isatty } from 'node:tty'
import { fileURLToPath } from 'node:url'

/**
 * The scripts of package.json that run code of this repository start here: `node scripts/run.mjs [--build] [--lanes] SCRIPT [ARGUMENT…]` installs what
 * is missing, then runs SCRIPT with the Node.js of package-lock.json. With `--build`, it first builds dist if a source
 * has changed. With `--lanes`, it also installs the packages of test/package.json.
 *
 * npm skips hooks such as `prestart` with ignore-scripts=true, so there are none. This file runs before the
 * installation, so it is plain JavaScript for Node.js 20.0.
 */

const root = fileURLToPath(new URL('..', import.meta.url))
const isWindows = process.platform === 'win32'

function fail(message, hint) {
  process.stderr.write(`Error: ${message}\nHint:  ${hint}\n`)
  process.exit(1)
}

/** Its output is on stderr, because stdout belongs to the script. */
function runBefore(command, args, directory = root, shell = false) {
  const { status, error } = spawnSync(command, args, { cwd: directory, stdio: ['ignore', 2, 2], shell })
  if (error) fail(`Cannot run ${command} in ${directory}: ${error.message}`, 'Install Node.js again')
  if (status !== 0) process.exit(status ?? 1)
}

function runNpm(args, directory) {
  const npm = process.env.npm_execpath
  if (npm) runBefore(process.execPath, [npm, ...args], directory)
  else runBefore('npm', args, directory, isWindows)
}

function readPackages(path) {
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).packages : undefined
}

/** Runs `npm ci` if a package is missing, apart from optional ones, which may be for other platforms. */
function installPackages(directory) {
  const wanted = readPackages(join(directory, 'package-lock.json'))
  const installed = readPackages(join(directory, 'node_modules', '.package-lock.json'))
  const isInstalled = ([path, { version, optional }]) =>
    path === '' || optional || installed[path]?.version === version
  if (installed && Object.entries(wanted).every(isInstalled)) return
  runNpm(['ci', '--ignore-scripts'], directory)
}

/** Returns the path of Node.js. The package `node` gets its binary in a script, which is skipped above. */
function installNode() {
  const path = join(root, 'node_modules', 'node', 'bin', isWindows ? 'node.exe' : 'node')
  const { version } = readPackages(join(root, 'package-lock.json'))['node_modules/node']
  if (existsSync(path)) return path
  if (process.versions.node === version) return process.execPath
  runNpm(['rebuild', 'node', '--ignore-scripts=false'])
  if (existsSync(path)) return path
  return fail(`The package node has no Node.js ${version} for this system`, 'Install this version yourself')
}

/** Replaces this process if Node.js can, so that the script has its signals and its terminal. */
function start(node, args) {
  if (process.execve && !isWindows) process.execve(node, [node, ...args], process.env)
  const child = spawn(node, args, { stdio: 'inherit' })
  child.on('error', ({ message }) => fail(`Cannot run ${node}: ${message}`, 'Delete node_modules'))
  // A terminal sends SIGINT to the child too, and on Windows the console does.
  const isInTerminal = isWindows || [0, 1, 2].some((descriptor) => isatty(descriptor))
  process.on('SIGINT', () => isInTerminal || child.kill('SIGINT'))
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => {
    process.removeAllListeners()
    if (signal) process.kill(process.pid, signal)
    else process.exit(code ?? 1)
  })
}

const options = new Set()
const args = process.argv.slice(2)
while (['--build', '--lanes'].includes(args[0])) options.add(args.shift())

process.chdir(root)
installPackages(root)
if (options.has('--lanes')) installPackages(join(root, 'test'))
const node = installNode()
const programs = [root, join(root, 'test')].map((directory) => join(directory, 'node_modules', '.bin'))
process.env.PATH = [...programs, dirname(node), process.env.PATH].join(delimiter)
if (options.has('--build')) runBefore(node, ['scripts/build.ts', '--if-stale'], root)
start(node, args)
