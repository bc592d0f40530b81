#!/usr/bin/env node
// CommonJS and ES5 on purpose: a Node that is too old must still be able to read this far.
'use strict'

var package_ = require('../package.json')
var wanted = package_.engines.node.replace('>=', '')

if (isOlder(process.versions.node, wanted)) {
  process.stderr.write(
    'Error: chatctl needs Node.js ' +
      wanted +
      ' or newer; this is ' +
      process.versions.node +
      '.\n' +
      'Hint: install a newer one from https://nodejs.org/en/download, or with a version manager: nvm install 24\n',
  )
  process.exit(1)
}

if (process.argv.length === 3 && process.argv[2] === '--version') {
  printVersion()
} else {
  start()
}

/** Straight to the descriptor: process.stdout takes as long to open as all the rest of this. */
function printVersion() {
  try {
    require('node:fs').writeSync(1, 'chatctl ' + package_.version + '\n')
  } catch (error) {
    // A reader that is gone is no failure.
    if (error.code === 'EPIPE') process.exit(0)
    process.stderr.write('Error: stdout cannot be written: ' + error.message + '\n')
    process.exit(1)
  }
}

function start() {
  try {
    require('../dist/start.cjs')
  } catch (error) {
    if (error.code !== 'MODULE_NOT_FOUND') throw error
    process.stderr.write('Error: chatctl is not built.\nHint: npm run build\n')
    process.exit(1)
  }
}

function isOlder(running, floor) {
  var a = running.split('.').map(Number)
  var b = floor.split('.').map(Number)
  if (a[0] !== b[0]) return a[0] < b[0]
  if (a[1] !== b[1]) return a[1] < b[1]
  return a[2] < b[2]
}
