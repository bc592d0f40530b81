#!/usr/bin/env node
// CommonJS and ES5, so that a Node.js version that is too old can still parse this file.
'use strict'

/** Node.js gives the main script of an executable the path of the executable. */
var isExecutable = __filename === process.execPath

// With `require`, --version would take 2% longer.
var package_ = JSON.parse(readFile('package.json'))
var wanted = package_.engines.node.replace('>=', '')

if (isOlder(process.versions.node, wanted)) {
  process.stderr.write(
    'Error: chatctl needs Node.js ' +
      wanted +
      ' or newer; this is ' +
      process.versions.node +
      '.\n' +
      'Hint:  Install a newer version from https://nodejs.org/en/download, or with a version manager: nvm install 24\n'
  )
  process.exit(1)
}

// By default, this signal opens the debugger of Node.js on loopback, and every user of the machine could run code in it.
process.on('SIGUSR1', () => {})

var words = process.argv.slice(2)

// The child process for the keychain has no arguments. Without this check, it would print help (src/boot/start.ts).
if (process.env.CHATCTL_KEYCHAIN_CALL) {
  start()
} else if (words.length === 1 && words[0] === '--version') {
  print('chatctl ' + package_.version + '\n')
} else if (!printHelp(words)) {
  start()
}

/** Writes to the descriptor, because opening process.stdout takes as long as the rest of this file. */
function print(text) {
  var bytes = Buffer.from(text)
  var written = 0
  while (written < bytes.length) {
    try {
      written += require('node:fs').writeSync(1, bytes, written)
    } catch (error) {
      // A closed pipe is not a failure. A full pipe is tried again.
      if (error.code === 'EPIPE') process.exit(0)
      if (error.code === 'EAGAIN') continue
      process.stderr.write('Error: Cannot write to stdout: ' + error.message + '\n')
      process.exit(1)
    }
  }
}

/**
 * Prints a help page that the build wrote (scripts/write-help.ts), if the program would print the same
 * page: 80 columns, no color.
 *
 * @returns whether a page was printed
 */
function printHelp(words) {
  var path = nameOfHelp(words)
  var env = process.env
  if (path === undefined || 'FORCE_COLOR' in env || 'OCLIF_COLUMNS' in env) return false
  var text
  try {
    if (isPerhapsTerminal()) return false
    text = readFile('dist/help/' + path)
  } catch (_error) {
    return false
  }
  print(text)
  return true
}

/** As src/boot/own-files.ts, which would take longer to load. */
function readFile(path) {
  if (isExecutable) return require('node:sea').getAsset(path, 'utf8')
  // biome-ignore lint/style/useNodejsImportProtocol: A version that is too old does not know it.
  return require('fs').readFileSync(__dirname + '/../' + path, 'utf8')
}

/** The file of the page for `help`, `help chat send`, or `chat send --help`; undefined for any other line. */
function nameOfHelp(words) {
  var last = words[words.length - 1]
  var named
  if (words[0] === 'help') named = words.slice(1)
  else if (words.length === 0 || last === '--help' || last === '-h') named = words.slice(0, -1)
  else return undefined
  return /^([a-z][a-z-]*( |$))*$/.test(named.join(' '))
    ? ['chatctl'].concat(named, 'txt').join('.')
    : undefined
}

/** A terminal needs another width, and colors. Loading node:tty would take longer than this check. */
function isPerhapsTerminal() {
  var fs = require('node:fs')
  var stdout = fs.fstatSync(1)
  return stdout.isCharacterDevice() && stdout.rdev !== fs.statSync('/dev/null').rdev
}

function start() {
  var directory = isExecutable ? __dirname : require('node:path').dirname(__dirname) + '/dist'
  var path = isExecutable ? __filename : directory + '/start.cjs'
  var text = readProgram()
  var script = new (require('node:vm').Script)(text, { filename: path, cachedData: readCode(text) })
  script.runInThisContext()(exports, require, module, path, directory)
}

function readProgram() {
  try {
    return readFile('dist/start.cjs')
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
    process.stderr.write('Error: chatctl is not built.\nHint:  npm run build\n')
    process.exit(1)
  }
}

/**
 * The compiled code of dist/start.cjs, whose first line is a comment with its hash (scripts/write-code-cache.ts).
 * Without it, a short run takes 2% longer.
 *
 * @returns undefined if the package has none for this version of Node.js
 */
function readCode(text) {
  var key = [text.slice(2, 18), process.versions.v8, process.platform, process.arch].join('-')
  // Coverage counts only code that V8 compiles in this run.
  if (process.env.NODE_V8_COVERAGE) return undefined
  try {
    return readDuplicate(readBytes('dist/code-cache/start-' + key))
  } catch (_error) {
    return undefined
  }
}

/** As in src/boot/code-cache-format.ts: the code twice, because V8 crashes if one bit is wrong. */
function readDuplicate(bytes) {
  var half = bytes.length / 2
  var code = bytes.subarray(0, half)
  return half > 0 && code.equals(bytes.subarray(half)) ? code : undefined
}

function readBytes(path) {
  if (isExecutable) return Buffer.from(require('node:sea').getRawAsset(path))
  return require('node:fs').readFileSync(__dirname + '/../' + path)
}

function isOlder(running, floor) {
  var a = running.split('.').map(Number)
  var b = floor.split('.').map(Number)
  if (a[0] !== b[0]) return a[0] < b[0]
  if (a[1] !== b[1]) return a[1] < b[1]
  return a[2] < b[2]
}
