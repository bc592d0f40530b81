import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'

/**
 * What `npm test` may do, as far as a machine can see: the lanes of CONTRIBUTING.md. What waits, starts
 * processes, compares times or differs from run to run belongs to test/slow, test/system or test/e2e.
 */

const files = globSync('**/*.ts', { cwd: import.meta.dirname })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => !/^(slow|system|soak|support)\//.test(path) && path !== 'lanes.test.ts')
  .sort()
const lines = files.flatMap((file) =>
  readFileSync(join(import.meta.dirname, file), 'utf8')
    .split('\n')
    .map((line) => ({ file, line: line.trim() })),
)

/** The files with a line that a rule does not allow. */
function offenders(isOffence: (line: string) => boolean, among = lines): string[] {
  return [...new Set(among.filter(({ line }) => isOffence(line)).map(({ file, line }) => `${file}: ${line}`))]
}

/** A pause of so many ms waits for a condition, in a loop; a longer one waits for time to pass. */
const longestPause = 20

/** Each starts a process for the reason beside it. No other may join them. */
const startsProcesses: Readonly<Record<string, string>> = {
  'auth/first-browser.test.ts': 'another user of the machine, whom only a process can be',
  'boot/end-process.test.ts': 'how a process ends',
  'bulk/input/open-input.test.ts': 'named pipes, which mkfifo makes',
  'cli/completion/complete.test.ts': 'compares with how shells read a quoted value',
  'cli/completion/shell-line.test.ts': 'compares with how bash splits a line',
  'cli/input/encodings.test.ts': 'commands that the documents name for other encodings',
  'client/proxy-and-tls.test.ts': 'variables that Node reads once, when it starts',
  'files/process-lock.test.ts': 'locks that exclude other processes',
  'service/administration.test.ts': 'two services, told apart by their process ids',
  'service/oauth/metadata.test.ts': 'what a process has loaded',
  'service/start-service.test.ts': 'a log on descriptor 2',
  'service/store/group-commit.test.ts': 'a write lock held by another process',
  'service/store/write-at-once.ts': 'writes of several processes at once',
}

describe('the tests of npm test', () => {
  it('are there', () => {
    expect(files).to.have.length.above(150).and.include('e2e/program.test.ts')
  })

  it('draw nothing at random', () => {
    expect(offenders((line) => /Math\.random\(|takeSample|takeCells/.test(line))).to.deep.equal([])
  })

  it('compare no durations', () => {
    const compares = /expect\((performance|Date)\.now\(\) - \w+\)\.to/
    expect(offenders((line) => compares.test(line))).to.deep.equal([])
  })

  it('wait for conditions and not for time to pass', () => {
    const pause = /(?:await (?:sleep|pause|wait|delay)\(|setTimeout\(resolve, )([\d_]+)\)/
    const isLong = (line: string) => Number(pause.exec(line)?.[1]?.replaceAll('_', '') ?? 0) > longestPause
    // The pause after a 429 shows nowhere before it ends.
    const known = 'bulk/import-outcome.test.ts: await new Promise((resolve) => setTimeout(resolve, 300))'
    expect(offenders(isLong)).to.deep.equal([known])
  })

  it('listen on no port that they chose', () => {
    expect(offenders((line) => /\.listen\([1-9]|'--port', '[1-9]/.test(line))).to.deep.equal([])
  })

  it('need no PostgreSQL', () => {
    const users = offenders((line) => /support\/postgres\.ts'/.test(line))
    expect(users.map((user) => user.split(':')[0])).to.deep.equal([
      // Asks for it with CHATCTL_TEST_ENGINE=postgres alone.
      'service/administration.test.ts',
      'service/temporary-service.ts',
    ])
  })

  it('start processes in test/e2e alone, but for those that are named here', () => {
    const inProcess = lines.filter(({ file }) => !file.startsWith('e2e/'))
    const names =
      'spawn|spawnSync|execFile|execFileSync|fork|startBuilt|startBuiltLogin|runService|runProgram'
    const called = new RegExp(`\\b(${names})\\(`)
    const passed = new RegExp(`[(,=:]\\s*(${names})\\b`)
    const start = (line: string) => called.test(line) || (passed.test(line) && !line.startsWith('import '))
    const starting = offenders(start, inProcess).map((found) => found.split(': ')[0])
    expect([...new Set(starting)]).to.deep.equal(Object.keys(startsProcesses))
  })
})
