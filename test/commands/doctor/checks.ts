import { expect } from 'chai'
import { type RunOptions, runChatctl } from '../../support/run-chatctl.ts'
import type { Sandbox } from '../../support/sandbox.ts'

interface Check {
  check: string
  status: string
  message: string
  hint: string | null
}

/** The findings of `doctor --json` by the name of the check, the first row of each. */
export interface Diagnosis {
  exitCode: number | null
  all: readonly Check[]
  found(check: string): Check
}

/** Runs `doctor --json` and expects an empty stderr. */
export async function diagnose(
  sandbox: Sandbox,
  args: readonly string[] = [],
  options: RunOptions = {},
  run = runChatctl,
): Promise<Diagnosis> {
  const { exitCode, stdout, stderr } = await run(sandbox, ['doctor', '--json', ...args], options)
  expect(stderr).to.equal('')
  const all: readonly Check[] = JSON.parse(stdout)
  const found = (name: string): Check => {
    const check = all.find((one) => one.check === name)
    if (!check) throw new Error(`there is no check ${name}`)
    return check
  }
  return { exitCode, all, found }
}
