import { readFileSync } from 'node:fs'

/**
 * Runs after `npm ci` in a checkout. The scripts use the Node.js that it has installed, but the program that `npm link`
 * installs uses that of the user. This file is plain JavaScript for any Node version.
 */

const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const wanted = engines.node.replace('>=', '')
// In this script, `node` may already be the installed one, so that npm tells which one the user has.
const [, version = wanted] = /\bnode\/v(\S+)/.exec(process.env.npm_config_user_agent ?? '') ?? []
const numberOf = (text) => text.split('.').reduce((sum, part) => sum * 1000 + Number.parseInt(part, 10), 0)

if (numberOf(version) < numberOf(wanted) && !process.env.CHATCTL_NPM_START)
  process.stderr.write(
    `Warning: chatctl needs Node.js ${wanted} or newer; this is ${version}.\n` +
      'Hint:    Run it with: npm start -- ARGUMENTS, which uses the Node.js in node_modules.\n' +
      '         After npm link, it needs a newer version: https://nodejs.org/en/download\n',
  )
