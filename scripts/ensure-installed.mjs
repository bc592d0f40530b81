import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

/**
 * Runs `npm ci` if node_modules does not match package-lock.json, so that `npm start` and `npm test`
 * work in a fresh clone, then runs the script in its arguments. This file runs before the installation,
 * so it is plain JavaScript for any Node version. It starts the script with the installed Node by path,
 * because the PATH of the parent shell may still find another one.
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

function run(command, args, env = process.env) {
  const { status } = spawnSync(command, args, { cwd: root, stdio: 'inherit', env })
  if (status !== 0) process.exit(status ?? 1)
}

if (!isInstalled()) {
  const npm = process.env.npm_execpath
  const [command, ...start] = npm ? [process.execPath, npm] : ['npm']
  // The installed Node runs the program, so that a warning about the parent's version would mislead.
  run(command, [...start, 'ci'], { ...process.env, CHATCTL_NPM_START: '1' })
}
const script = process.argv.slice(2)
if (script.length > 0) {
  const name = process.platform === 'win32' ? 'node.exe' : 'node'
  run(join(root, 'node_modules/node/bin', name), script)
}
