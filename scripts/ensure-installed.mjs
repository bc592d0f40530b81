import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

/**
 * Installs what package-lock.json names when that is not what node_modules holds, so that `npm start`
 * and `npm test` work on a fresh clone, and then runs the script that its arguments name. It runs
 * before anything is installed: plain JavaScript, on whatever Node the machine has. The script runs on
 * the Node that was installed: the shell that runs this one would still find the other.
 */

const root = resolve(import.meta.dirname ?? new URL('.', import.meta.url).pathname, '..')

function installedPackages() {
  const path = join(root, 'node_modules', '.package-lock.json')
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).packages : undefined
}

function isInstalled() {
  const installed = installedPackages()
  if (!installed) return false
  const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages
  return Object.entries(wanted).every(
    ([path, { version, optional }]) => path === '' || optional || installed[path]?.version === version,
  )
}

function run(command, args) {
  const { status } = spawnSync(command, args, { cwd: root, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}

if (!isInstalled()) {
  const npm = process.env.npm_execpath
  const [command, ...start] = npm ? [process.execPath, npm] : ['npm']
  run(command, [...start, 'ci'])
}
const script = process.argv.slice(2)
if (script.length > 0) {
  const name = process.platform === 'win32' ? 'node.exe' : 'node'
  run(join(root, 'node_modules/node/bin', name), script)
}
