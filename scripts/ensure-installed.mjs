import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

/**
 * Installs what package-lock.json names when that is not what node_modules holds, so that
 * `npm test` works on a fresh clone. It runs before anything is installed: plain JavaScript, on
 * whatever Node the machine has.
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

if (!isInstalled()) {
  const npm = process.env.npm_execpath
  const [command, ...start] = npm ? [process.execPath, npm] : ['npm']
  const { status } = spawnSync(command, [...start, 'ci'], { cwd: root, stdio: 'inherit' })
  process.exit(status ?? 1)
}
