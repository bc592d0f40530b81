import { expect } from 'chai'
import { concurrency, type ImportTrial, type ResultRow } from './import-trial.ts'

/** What a service does to a create of which nobody can say afterwards whether it was done. */
const doubtful = new Set<unknown>(['lost', 'refused', 'failed after', 'failed before'])

/**
 * What holds when an import has come to its end, however often it was killed on the way.
 * @param kills times that it was cut off with requests in flight
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
    if (result.status === 'unknown' && !isDoubtful(trial, row.line)) unexplained++
    if (result.status === 'failed') expectNotMade(trial, row.line, result)
  }
  // Only what was in flight at a kill can be unknown without the service's doing.
  expect(unexplained, 'rows that are unknown for no reason').to.be.at.most(kills * concurrency)
  expectNoSecrets(trial)
}

/** No email reached the service again once it was taken, or may have been: only after a plain no. */
export function expectExactlyOnce(trial: ImportTrial): void {
  const { creates } = trial.server.report()
  const isNo = (met: unknown) => typeof met === 'number' && met >= 400 && met < 500
  const twice = [...creates].filter(([, { met, ids }]) => ids.length > 1 || !met.slice(0, -1).every(isNo))
  expect(twice, 'creates that were sent again').to.deep.equal([])
}

/** The row's user is there, with all that the row asked for. */
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

/** A row that failed was turned away, or has the id of what was made of it. */
function expectNotMade(trial: ImportTrial, line: number, result: ResultRow): void {
  const row = trial.rowAt(line)
  if (row.id !== undefined) return
  const made = trial.server.report().creates.get(row.email)?.ids[0]
  expect(result.id, `line ${line} failed: ${result.error}`).to.equal(made ?? '')
}

/** Whether the service gave one of the row's requests no answer that says what it did. */
function isDoubtful(trial: ImportTrial, line: number): boolean {
  const row = trial.rowAt(line)
  const { creates, doubts } = trial.server.report()
  const create = creates.get(row.email)
  const id = row.id ?? create?.ids[0]
  return create?.met.some((met) => doubtful.has(met)) === true || (id !== undefined && doubts.has(id))
}

/** Neither a password nor the key is in what the import keeps, and nobody else may read that. */
function expectNoSecrets(trial: ImportTrial): void {
  for (const { path, text, mode } of trial.stateFiles()) {
    expect(text.match(/canary-[\w-]*/g) ?? [], path).to.deep.equal([])
    // A lock is an empty file, of which the folder says enough.
    if (text !== '') expect(mode.toString(8), path).to.equal('600')
  }
}
