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

/** Each begins or signals a process as part of what it shows. No other may join them. */
const startsProcesses = [
  // Signals and the state of the process while a sign-in waits.
  'auth/sign-in-waiting.test.ts',
  // Results go to the stdout of a process.
  'bulk/import-passwords.test.ts',
  // Code that a process keeps, and a HOME that is not there.
  'cli/harsh-machine.test.ts',
  'auth/api-key.test.ts',
  'auth/embedded-service.test.ts',
  'auth/first-browser.test.ts',
  'bulk/import-doubt.test.ts',
  'bulk/input/open-input.test.ts',
  'cli/completion/shell-line.test.ts',
  'cli/input/encodings.test.ts',
  'cli/input/named-files.test.ts',
  'cli/interrupted-change.test.ts',
  'cli/output.test.ts',
  'client/proxy-and-tls.test.ts',
  'commands/settings/recipe.test.ts',
  'commands/users/generated-password.test.ts',
  'commands/users/get.test.ts',
  'docs/example-world.ts',
  'export/resume.test.ts',
  'files/process-lock.test.ts',
  'service/administration.test.ts',
  'service/oauth/metadata.test.ts',
  'service/running/exposure.test.ts',
  'service/running/other-database.test.ts',
  'service/start-service.test.ts',
  'service/store/group-commit.test.ts',
  'service/store/write-at-once.ts',
  'talk/transcript/transcript.test.ts',
  'terminal/editor/recall.test.ts',
]

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
    const known = 'bulk/import-doubt.test.ts: await new Promise((resolve) => setTimeout(resolve, 300))'
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
    const start =
      /\b(spawn|spawnSync|execFile|execFileSync|fork|startBuilt|runBuilt|startBuiltLogin|runService|runProgram)\(/
    const starting = offenders((line) => start.test(line), inProcess).map((found) => found.split(': ')[0])
    expect(starting.filter((file = '') => !startsProcesses.includes(file))).to.deep.equal([])
  })
})
