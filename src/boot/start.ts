import { existsSync } from 'node:fs'
import type { Command } from '@oclif/core/command'
import { keepCodeCaches, loadBundle } from './load-bundle.ts'
import { isExecutable, ownRoot, readOwnFile } from './own-files.ts'
import { expectStreamedReply } from './v8-flags.ts'

// bin/run.js must parse on any Node version; all code after it requires a supported one.

/** The first words of all commands but those of `chat`, set by the build. */
declare const otherCommands: readonly string[]

/** A bundle that has the program with some or all of its commands. */
type Program = typeof import('./main.ts') & { loadCommand(id: string): Command.Class }

/**
 * The variable that makes this program the child process of `auth/credentials/call-keychain-apart.ts`. Its value is
 * the parent's process ID, so it has no effect in any other process that inherits it.
 */
const keychainCall = 'CHATCTL_KEYCHAIN_CALL'

/** The file of this process on Linux, even after an update has replaced or removed it. */
const runningFile = '/proc/self/exe'

function start(): void {
  const argv = process.argv.slice(2)
  // `chatctl -m MODEL "question"` is `chat send`. The words may contain the name of a command by chance.
  const isChat = argv[0] === 'chat' || !argv.some((word) => otherCommands.includes(word))
  const { main, loadCommand } = loadBundle(isChat ? 'chat' : 'main') as Program
  void main(argv, {
    installation: { isExecutable, readFile: readOwnFile },
    keychainProcess: {
      get command() {
        // On Windows, other users may be able to create such a file on the drive of the working directory.
        const isKnown = isExecutable && process.platform === 'linux' && existsSync(runningFile)
        return isKnown ? runningFile : process.execPath
      },
      args: isExecutable ? [] : [`${ownRoot}/bin/run.js`],
      env: { [keychainCall]: `${process.pid}` },
    },
    expectStreamedReply,
    loadCommand,
    onEnd: keepCodeCaches,
  })
}

if (process.env[keychainCall] === `${process.ppid}`) loadBundle('keychain-process')
else start()
