import { stripVTControlCharacters } from 'node:util'
import { expect } from 'chai'
import { commandOf, type ServiceCall, serviceCalls } from '../../support/command-lines.ts'
import { type RecordedRequest, startFaultServer } from '../../support/fault-server.ts'
import { createJobPool } from '../../support/job-pool.ts'
import type { Run } from '../../support/run-chatctl.ts'
import { takeCells } from '../../support/take-sample.ts'
import { type Call, calls } from './calls.ts'
import {
  expectedEnding,
  expectedJson,
  expectedRequests,
  reportsFailures,
  retries,
  saysUnknown,
} from './expectation.ts'
import { type Ending, type Fault, faults } from './faults.ts'
import { type Form, formsHere, inWords, leftOut } from './forms.ts'
import { startGoodService } from './good-service.ts'
import { expectGoodManners, expectNothingLeft, filesOf } from './invariants.ts'
import { PreparedHome } from './prepared-home.ts'
import { removeWorld, runIn } from './world.ts'

/** Every command that talks to the service, with every behavior of a service. */

interface Cell {
  call: ServiceCall
  faultName: string
  fault: Fault
  form: Form
  title: string
}

interface Outcome extends Run {
  requests: readonly RecordedRequest[]
}

const cells: Cell[] = serviceCalls.flatMap((call) =>
  Object.entries(faults as Record<string, Fault>).flatMap(([faultName, fault]) =>
    formsHere.map((form) => ({
      call,
      faultName,
      fault,
      form,
      title: `${call.name}: ${faultName}, ${inWords[form]}`,
    })),
  ),
)

const key = 'key-for-the-matrix'
const limits = ['--retries', String(retries), '--max-wait', '1500ms']
/** Only a request that gets no response has a short timeout: on a busy machine, a response may take long. */
const timeout = (faultName: string) => ['--timeout', faultName === 'no response' ? '2s' : '30s']

describe('the matrix of service faults', function () {
  this.timeout(180_000)
  let home: PreparedHome
  const outcomes = new Map<Cell, Promise<Outcome>>()
  const { sample, words } = takeCells(cells, 60)

  before(async () => {
    const service = await startGoodService()
    home = await PreparedHome.make(service.url)
    // Each cell has its own service.
    await service.close()
    // Most of the time, a cell waits for its service.
    const run = createJobPool(8)
    for (const cell of sample) {
      const outcome = run(() => meet(cell, home))
      // The test of the cell reports it.
      outcome.catch(() => {})
      outcomes.set(cell, outcome)
    }
  })
  after(() => home.remove())

  describe(words + leftOut, () => {
    for (const cell of sample) {
      it(cell.title, async () => {
        const outcome = await outcomes.get(cell)
        if (outcome) judge(cell, outcome)
      })
    }
  })
})

async function meet({ call, fault, faultName, form }: Cell, home: PreparedHome): Promise<Outcome> {
  const server = await startFaultServer(fault.script(call))
  const world = home.makeWorld()
  world.env = { ...world.env, CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: key }
  const local = callNamed(call.name)
  try {
    const before = new Set(filesOf(world))
    const words = [...call.args, ...limits, ...timeout(faultName), ...(form === 'JSON' ? ['--json'] : [])]
    const run = await runIn(world, words, form, local)
    expectGoodManners({ call: local, form, world, run })
    await expectNothingLeft({ call: local, form, world, run }, before)
    return { ...run, requests: server.requests }
  } finally {
    removeWorld(world)
    await server.close()
  }
}

function callNamed(name: string): Call {
  const found = calls.find((call) => call.name === name)
  if (!found) throw new Error(`no call ${name}`)
  return found
}

function judge(cell: Cell, outcome: Outcome): void {
  const { call, fault, form } = cell
  const ending = expectedEnding(call, fault, cell.faultName, form === 'JSON')
  expect(outcome.exitCode, `exit code; ${outcome.stderr}`).to.equal('done' in ending ? 0 : ending.exitCode)

  const sent = outcome.requests.map(({ method, path }) => `${method} ${path.split('?')[0]}`)
  expect(sent, 'requests').to.deep.equal(expectedRequests(call, fault, cell.faultName))
  for (const { headers } of outcome.requests) expect(headers.authorization).to.equal(`Bearer ${key}`)

  if (form === 'JSON') judgeJson(call, ending, outcome)
  else if (form === 'pipe') judgeWords(call, ending, outcome)
  else judgeTerminal(call, ending, outcome)
}

/** The notice of a change whose response has nothing to show. */
const showsNothing = /^no body: .+\. The service did not return .+\.$/

function judgeJson(call: ServiceCall, ending: Ending, { stdout, stderr }: Outcome): void {
  const said = stderr
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
  if ('done' in ending) {
    const [notices, warnings] = [said.filter(({ notice }) => notice), said.filter(({ notice }) => !notice)]
    expect(warnings.length > 0, stderr).to.equal(ending.warned === true)
    for (const line of warnings) expect(line.warning.message).to.match(/\S/)
    for (const line of notices) expect(`${ending.done}: ${line.notice.message}`).to.match(showsNothing)
    const printed = call.name === 'chat:send streamed' ? readLines(stdout) : JSON.parse(stdout)
    if (ending.done !== 'body') expect(Object.keys(printed).filter((name) => name !== 'id')).to.deep.equal([])
    else if (expectedJson(call) !== undefined) expect(printed).to.deep.equal(expectedJson(call))
    return
  }
  if (reportsFailures(call)) {
    expect(stderr).to.equal('')
    expect(JSON.parse(stdout).map((check: { status: string }) => check.status)).to.include('failed')
    return
  }
  const others = printsErrorBodies(call) ? said.filter(({ warning }) => !warning) : said
  expect(others).to.have.lengthOf(1)
  const { error } = others[0]
  expect(error.code).to.equal(ending.code)
  expect(error.message).to.be.a('string').that.is.not.empty
  // For `api`, a body that cannot be shown is not a failure of the request.
  if (error.request || !printsErrorBodies(call))
    expect(`${error.request.method} ${new URL(error.request.url).pathname}`).to.be.oneOf([
      call.endpoint,
      call.readsBack,
    ])
  if (/^own_code_/.test(error.code)) {
    const lost = ending.exitCode === 69 && saysUnknown(call) ? 'The outcome of the change is unknown: ' : ''
    const { method, url } = error.request
    const request = `${method} ${url.split('?')[0]}`
    expect(error.message).to.equal(`${lost}In its own words: ${error.status} (${request})`)
  }
  if (printsErrorBodies(call)) expect(() => stdout === '' || JSON.parse(stdout)).not.to.throw()
  else if (keepsWhatCame(call, ending)) readLines(stdout)
  else expect(stdout).to.equal('')
}

const progress = /^.+\. Retrying in \S+…$/
/** The last line of `doctor` on stderr. */
const summary = /^(No problems found|\d+ (failure|warning)s?\b.*)\.$/

function judgeWords(call: ServiceCall, ending: Ending, { stdout, stderr }: Outcome): void {
  const said = stderr.split('\n').filter((line) => line !== '' && !progress.test(line))
  if (reportsFailures(call)) expect(said.pop()).to.match(summary)
  if ('done' in ending) {
    const warnings = said.filter((line) => !showsNothing.test(`${ending.done}: ${line}`))
    expect(warnings.length > 0, stderr).to.equal(ending.warned === true)
    for (const line of warnings) expect(line).to.match(/^Warning: \S/)
    if (ending.done === 'body' && !call.printsNothing) expect(stdout).to.match(/\S/)
    return
  }
  if (reportsFailures(call)) {
    expect(said).to.deep.equal([])
    expect(stdout).to.match(/^service\tfailed\t/m)
    return
  }
  const [first, ...rest] = printsErrorBodies(call) ? said.filter((line) => !/^Warning: \S/.test(line)) : said
  expect(first).to.match(/^Error: \S/)
  for (const line of rest) expect(line).to.match(/^(Details: |Request ID: |Hint: {2})\S/)
  // No text has arrived when the response is interrupted.
  if (printsErrorBodies(call)) return
  if (!keepsWhatCame(call, ending) || ending.code === 'truncated') expect(stdout).to.equal('')
}

/** In a terminal, stdout and stderr are one stream. */
function judgeTerminal(call: ServiceCall, ending: Ending, { stdout }: Outcome): void {
  const shown = stripVTControlCharacters(withoutStatusLines(stdout)).replaceAll('\r', '')
  if (reportsFailures(call)) {
    expect(/^\d+ failures?\b/m.test(shown), shown).to.equal('exitCode' in ending)
    return
  }
  expect(/^Error: \S/m.test(shown), shown).to.equal('exitCode' in ending)
  if (!('done' in ending)) return
  expect(/^Warning: \S/m.test(shown), shown).to.equal(ending.warned === true)
  if (ending.done === 'body' && !call.printsNothing) expect(shown).to.match(/\S/)
}

/** A status line is erased before other text is written. */
function withoutStatusLines(output: string): string {
  const parts = output.split('\r\u001b[2K')
  const last = parts.pop() ?? ''
  return parts.map((part) => part.slice(0, part.lastIndexOf('\n') + 1)).join('') + last
}

function printsErrorBodies(call: ServiceCall): boolean {
  return commandOf(call.name) === 'api'
}

/** Events of a stream are printed before the stream turns out to be unusable. */
function keepsWhatCame(call: ServiceCall, ending: Ending): boolean {
  const broken = ['invalid_response', 'truncated']
  return call.name === 'chat:send streamed' && 'code' in ending && broken.includes(ending.code)
}

function readLines(text: string): unknown[] {
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
}

describe('the cells of the matrix of service faults', () => {
  it('include one for each call, fault, and form', () => {
    expect(new Set(cells.map(({ title }) => title)).size).to.equal(
      serviceCalls.length * Object.keys(faults).length * formsHere.length,
    )
    expect(new Set(serviceCalls.map(({ name }) => commandOf(name))).size).to.be.at.least(18)
  })
})
