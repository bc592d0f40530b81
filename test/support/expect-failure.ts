import { expect } from 'chai'
import type { Run } from './run-chatctl.ts'

/** A run that failed as it should: its exit code, words on stderr, nothing on stdout and no stack. */
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
