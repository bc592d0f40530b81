import { expect } from 'chai'
import type { Run } from './run-chatctl.ts'

/** Expects the exit code, the words on stderr, an empty stdout, and no stack trace. */
export function expectFailure(run: Run, exitCode: number, ...words: (string | RegExp)[]): void {
  const { stderr, stdout } = run
  expect(run.exitCode, `exit code; stderr was: ${stderr}`).to.equal(exitCode)
  expect(stdout).to.equal('')
  expect(stderr).to.match(/^(?:.*\n)*Error: \S/)
  expect(stderr).not.to.match(/This is a bug|^ {4}at /m)
  for (const word of words) {
    if (typeof word === 'string') expect(stderr).to.contain(word)
    else expect(stderr).to.match(word)
  }
}

/** Expects the exit code 0. @returns the run */
export function expectSuccess<R extends Pick<Run, 'exitCode'> & { stderr?: string }>(run: R): R {
  expect(run.exitCode, `exit code; stderr was: ${run.stderr}`).to.equal(0)
  return run
}
