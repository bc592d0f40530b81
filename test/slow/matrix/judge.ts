import { stripVTControlCharacters } from 'node:util'
import { expect } from 'chai'
import { commandOf, type ServiceCall } from '../../support/command-lines.ts'
import type { Run } from '../../support/run-chatctl.ts'
import type { RecordedRequest } from '../../support/scripted-server.ts'
import {
  expectedEnding,
  expectedJson,
  expectedRequests,
  reportsFailures,
  retries,
  saysUnknown,
} from './expectation.ts'
import type { Ending, Fault } from './faults.ts'
import type { Form } from './forms.ts'

/** A call of a service that behaves in some way. */
export interface Judged {
  call: ServiceCall
  faultName: string
  fault: Fault
  form: Form
}

export interface Outcome extends Run {
  requests: readonly RecordedRequest[]
}

/** The API key of every request. */
export const sentKey = 'key-for-the-matrix'

/**
 * The flags of every run. Only a request that gets no response has a short timeout: on a busy machine, a
 * response may take long.
 */
export function limits(faultName: string): string[] {
  const timeout = faultName === 'no response' ? '2s' : '30s'
  return ['--retries', String(retries), '--max-wait', '1500ms', '--timeout', timeout]
}

/** Compares a run with what the fault of its cell must cause. */
export function judge({ call, fault, faultName, form }: Judged, outcome: Outcome): void {
  const ending = expectedEnding(call, fault, faultName, form === 'JSON')
  expect(outcome.exitCode, `exit code; ${outcome.stderr}`).to.equal('done' in ending ? 0 : ending.exitCode)

  const sent = outcome.requests.map(({ method, path }) => `${method} ${path.split('?')[0]}`)
  expect(sent, 'requests').to.deep.equal(expectedRequests(call, fault, faultName))
  for (const { headers } of outcome.requests) expect(headers.authorization).to.equal(`Bearer ${sentKey}`)

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
  if (ending.exitCode !== 8 && (error.request || !printsErrorBodies(call)))
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
  else if (call.name !== 'chat:send streamed' && keepsWhatCame(call, ending)) JSON.parse(stdout)
  else if (keepsWhatCame(call, ending)) readLines(stdout)
  else expect(stdout).to.equal('')
}

const progress = /^(.+\. Retrying in \S+…|\d+ messages?: \d+ from the service, 0 from this machine)$/
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
  if ('code' in ending && ending.exitCode === 8) return true
  const broken = ['invalid_response', 'truncated', 'server_error']
  return call.name === 'chat:send streamed' && 'code' in ending && broken.includes(ending.code)
}

function readLines(text: string): unknown[] {
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
}
