import { globSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { expect } from 'chai'
import { packageFile } from './scripts/package-file.ts'
import { readFastTests } from './support/fast-tests.ts'

/**
 * The rules of CONTRIBUTING.md for `npm test` that a test can check. A test that waits, starts
 * processes, compares times, or differs from run to run belongs in test/slow, test/programs, or test/e2e.
 */

const withSupport = readFastTests()
  .filter(({ path }) => path !== 'lanes.test.ts')
  .flatMap(({ path, text }) => text.split('\n').map((line) => ({ file: path, line: line.trim() })))
const lines = withSupport.filter(({ file }) => !file.startsWith('support/'))
const files = [...new Set(lines.map(({ file }) => file))]

/** The lines that violate a rule, with their files. */
function offenders(isOffense: (line: string) => boolean, among = lines): string[] {
  return [...new Set(among.filter(({ line }) => isOffense(line)).map(({ file, line }) => `${file}: ${line}`))]
}

/** The maximum pause in ms of a loop that polls a condition. A longer pause waits for time to pass. */
const longestPause = 20

/** The files that start processes, each with its reason. Do not add others. */
const startsProcesses: Readonly<Record<string, string>> = {
  'auth/first-browser.test.ts': 'another user of the machine, whom only a process can be',
  'boot/end-process.test.ts': 'how a process ends',
  'boot/start-up.test.ts': 'what a process has loaded',
  'bulk/input/open-input.test.ts': 'named pipes, which mkfifo makes',
  'cli/completion/complete.test.ts': 'compares with how shells read a quoted value',
  'cli/completion/shells.test.ts': 'compares with how bash splits a line',
  'cli/input/files.test.ts': 'commands that the documents name for other encodings',
  'system/process-lock.test.ts': 'locks that exclude other processes',
  'system/run-command.test.ts': 'compares with how sh splits a command',
  'service/store/group-commit.test.ts': 'a write lock held by another process',
  'service/store/open-sqlite.test.ts': 'a file that another process must not replace',
  'service/store/write-at-once.ts': 'writes of several processes at the same time',
}

/** The files that listen without test/support, each with its reason. Do not add others. */
const listens: Readonly<Record<string, string>> = {
  'auth/authorization-request.test.ts': 'asks whether the machine has IPv6',
  'auth/peer-user.test.ts': 'the socket of a server, half-open',
  'client/timeouts.test.ts': 'connections without a TLS handshake',
  'programs/keychain/session-bus.ts': 'a silent Unix socket',
  'programs/postgres/open-postgres.test.ts': 'a silent database',
  'programs/postgres/stalling-proxy.ts': 'a proxy of bytes to a database',
  'programs/service/localhost.test.ts': 'in a process that runs in another network namespace',
  'service/oauth/anonymous-requests.test.ts': 'a proxy to the embedded service',
  'service/oauth/forms.test.ts': 'a part of the embedded service',
  'service/store/postgres/close-while-connecting.test.ts': 'a silent database',
  'slow/service/cancel.test.ts': 'connections without a TLS handshake',
}

describe('the tests', () => {
  it('start servers with test/support, except in the files that are listed here', () => {
    const listen = /\b(?:net|tls|https?)\.createServer\(|import \{[^}]*\bcreateServer\b[^}]*\} from 'node:/
    const exclude = ['{node_modules,support}/**']
    const listening = globSync('**/*.ts', { cwd: import.meta.dirname, exclude })
      .map((path) => path.replaceAll('\\', '/'))
      .filter((path) => listen.test(readFileSync(join(import.meta.dirname, path), 'utf8')))
    const place = 'Choose a server in test/support/README.md. Remove former files from `listens`'
    expect(listening, place).to.have.members(Object.keys(listens))
  })
})

describe('the tests of npm test', () => {
  it('include the end-to-end tests', () => {
    expect(files).to.have.length.above(150).and.include('e2e/program.test.ts')
  })

  it('are named only in the script of npm, so that `npx mocha FILE` runs one file, in one process', () => {
    const options = JSON.parse(readFileSync(join(import.meta.dirname, '../.mocharc.json'), 'utf8'))
    expect(options).not.to.have.any.keys('spec', 'ignore', 'parallel')
  })

  it('use no random values', () => {
    expect(offenders((line) => /Math\.random\(|takeSample|takeCells/.test(line))).to.deep.equal([])
  })

  it('compare no durations', () => {
    const compares = /expect\((performance|Date)\.now\(\) - \w+\)\.to/
    expect(offenders((line) => compares.test(line))).to.deep.equal([])
  })

  it('wait for conditions, not for time to pass', () => {
    const pause = /(?:await (?:sleep|pause|wait|delay)\(|setTimeout\(resolve, )([\d_]+)\)/
    const isLong = (line: string) => Number(pause.exec(line)?.[1]?.replaceAll('_', '') ?? 0) > longestPause
    // The pause after a 429 has no visible effect before it ends.
    const known =
      'users/import/import-outcome.test.ts: await new Promise((resolve) => setTimeout(resolve, 300))'
    expect(offenders(isLong)).to.deep.equal([known])
  })

  it('listen on no fixed port', () => {
    expect(offenders((line) => /\.listen\([1-9]|'--port', '[1-9]/.test(line))).to.deep.equal([])
  })

  it('import only packages that are installed for npm test', () => {
    const { dependencies, devDependencies } = packageFile
    const installed = new Set(['chatctl', ...Object.keys({ ...dependencies, ...devDependencies })])
    const named =
      /(?:\bfrom |^import |\bimport\(|\brequire\(|\bmeta\.resolve\()'((?:@[\w.-]+\/)?[\w-][\w.-]*)(?:\/[^']*)?'/
    const isMissing = (line: string) => {
      const name = named.exec(line)?.[1]
      return name !== undefined && !isBuiltin(name) && !installed.has(name)
    }
    const place =
      'Only package.json is installed for `npm test`. Move the test to test/slow/suites or test/programs, and a file of test/support next to its users'
    expect(offenders(isMissing, withSupport), place).to.deep.equal([])
  })

  it('need no PostgreSQL', () => {
    const users = offenders((line) => /support\/postgres\.ts'/.test(line))
    expect(users.map((user) => user.split(':')[0])).to.deep.equal([
      // Needs PostgreSQL only with CHATCTL_TEST_ENGINE=postgres.
      'service/administration/administration.test.ts',
      'service/temporary-service.ts',
    ])
  })

  it('start processes only in test/e2e and in the files that are listed here', () => {
    const inProcess = lines.filter(({ file }) => !file.startsWith('e2e/'))
    const names =
      'spawn|spawnSync|execFile|execFileSync|fork|startBuilt|startBuiltLogin|runService|runProgram'
    const called = new RegExp(`\\b(${names})\\(`)
    const passed = new RegExp(`[(,=:]\\s*(${names})\\b(?!:)`)
    const start = (line: string) => called.test(line) || (passed.test(line) && !line.startsWith('import '))
    const starting = offenders(start, inProcess).map((found) => found.split(': ')[0])
    const place = 'Use runChatctl, or move the test to test/e2e. Remove former files from `startsProcesses`'
    expect([...new Set(starting)], place).to.have.members(Object.keys(startsProcesses))
  })
})
