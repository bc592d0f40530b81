import { expect } from 'chai'
import { concurrency, type ImportTrial, type ResultRow } from './import-trial.ts'

/** What the server does to a create that leaves its outcome unknown. */
const unknownOutcomes = new Set<unknown>(['lost', 'refused', 'failed after', 'failed before'])

/**
 * Checks the final state of an import, however often it was killed.
 *
 * @param kills how often it was killed with requests in flight
 */
export function expectSettled(trial: ImportTrial, kills: number): void {
  const results = trial.readResults()
  const byLine = new Map(results.map((result) => [Number(result.line), result]))
  expect(results.length, 'one result for each row').to.equal(byLine.size)
  expect([...byLine.keys()].sort((a, b) => a - b)).to.deep.equal(trial.rows.map(({ line }) => line))
  expectExactlyOnce(trial)
  let unexplained = 0
  for (const row of trial.rows) {
    const result = byLine.get(row.line)
    if (!result) throw new Error(`no result for line ${row.line}`)
    expect(result.email, `line ${row.line}`).to.equal(row.email)
    expect(['created', 'updated', 'failed', 'unknown'], `line ${row.line}`).to.include(result.status)
    if (result.status === 'created' || result.status === 'updated') expectDone(trial, row.line, result)
    else expect(result.error, `line ${row.line} is ${result.status}`).not.to.equal('')
    if (result.status === 'unknown' && !hasUnknownOutcome(trial, row.line)) unexplained++
    if (result.status === 'failed') expectNotMade(trial, row.line, result)
  }
  // Apart from what the server did, only requests in flight at a kill can have an unknown outcome.
  expect(unexplained, 'rows that are unknown for no reason').to.be.at.most(kills * concurrency)
  expectNoSecrets(trial)
}

/** Checks that an email was sent again only after a response with a 4xx status. */
export function expectExactlyOnce(trial: ImportTrial): void {
  const { creates } = trial.server.report()
  const isNo = (met: unknown) => typeof met === 'number' && met >= 400 && met < 500
  const twice = [...creates].filter(([, { met, ids }]) => ids.length > 1 || !met.slice(0, -1).every(isNo))
  expect(twice, 'creates that were sent again').to.deep.equal([])
}

/** Checks that the user of a row exists, with everything that the row asks for. */
function expectDone(trial: ImportTrial, line: number, result: ResultRow): void {
  const { creates, users, assignments } = trial.server.report()
  const row = trial.rowAt(line)
  const about = `line ${line}, ${result.status}`
  expect(result.status, about).to.equal(row.id === undefined ? 'created' : 'updated')
  const id = row.id ?? creates.get(row.email)?.ids[0] ?? ''
  expect(result.id, about).to.equal(id)
  const user = users.get(id)
  expect(user?.name, about).to.equal(`Name of ${row.email}`)
  if (row.theme !== undefined) expect(user?.settings?.theme, about).to.equal(row.theme)
  if (row.permissions.length === 0) return
  const wanted = { permissions: row.permissions, role: row.role }
  const arrived = assignments.get(id) ?? []
  expect(arrived.length, `assignments of ${about}`).to.be.above(0)
  for (const assignment of arrived) expect(assignment, about).to.deep.equal(wanted)
}

/** Checks that a failed row was rejected, or that its result names the user that was created for it. */
function expectNotMade(trial: ImportTrial, line: number, result: ResultRow): void {
  const row = trial.rowAt(line)
  if (row.id !== undefined) return
  const made = trial.server.report().creates.get(row.email)?.ids[0]
  expect(result.id, `line ${line} failed: ${result.error}`).to.equal(made ?? '')
}

/** Whether one of the row's requests got no response that states its outcome. */
function hasUnknownOutcome(trial: ImportTrial, line: number): boolean {
  const row = trial.rowAt(line)
  const { creates, unknowns } = trial.server.report()
  const create = creates.get(row.email)
  const id = row.id ?? create?.ids[0]
  return (
    create?.met.some((met) => unknownOutcomes.has(met)) === true || (id !== undefined && unknowns.has(id))
  )
}

/**
 * Checks that the files of the import contain no password and no key, and that only the owner can read them.
 */
function expectNoSecrets(trial: ImportTrial): void {
  for (const { path, text, mode } of trial.stateFiles()) {
    expect(text.match(/canary-[\w-]*/g) ?? [], path).to.deep.equal([])
    // A lock file is empty, so its mode does not matter.
    if (text !== '') expect(mode.toString(8), path).to.equal('600')
  }
}
