import { commandOf, type ServiceCall } from '../../support/command-lines.ts'
import type { Ending, Fault } from './faults.ts'

/** Further attempts after a failure; `--retries` says so to every cell. */
export const retries = 2

/** What the service is asked, in order. */
export function expectedRequests(call: ServiceCall, fault: Fault, faultName: string): string[] {
  const asked = repeated(call.endpoint, fault)
  // The service may only have refused to be told how many messages a page may have.
  if (call.name === 'history:export' && ['400', '422'].includes(faultName)) return [...asked, ...asked]
  // What was refused was not done, and there is nothing to be read.
  if (call.readsBack === undefined || isRefusal(fault)) return asked
  // The models of a service are asked for only where it has said who asks.
  if (reportsFailures(call) && !isSuccess(fault)) return asked
  // By then the limit is over.
  if (faultName === '429, then success') return [...asked, call.readsBack]
  return [...asked, ...repeated(call.readsBack, fault)]
}

function isSuccess({ ending }: Fault): boolean {
  return 'done' in ending
}

function isRefusal({ ending }: Fault): boolean {
  return 'exitCode' in ending && ending.exitCode !== 69
}

function repeated(endpoint: string, { sent }: Fault): string[] {
  if (sent === 'once') return [endpoint]
  if (sent === 'twice') return [endpoint, endpoint]
  return Array(/^(GET|PUT) /.test(endpoint) ? 1 + retries : 1).fill(endpoint)
}

/** Calls that differ from their kind, and why. */
const exceptions: Record<string, (ending: Ending, faultName: string, json: boolean) => Ending> = {
  // Whatever the answer is, it is the result; only where JSON was asked for must it be JSON.
  api: (ending, faultName, json) => {
    if (faultName !== 'what is not JSON' && faultName !== 'a web page') return ending
    return json ? { exitCode: 1, code: 'invalid_response' } : { done: 'body' }
  },
  // Nobody will find the user again whose id was not said.
  'users:create': (ending) =>
    'done' in ending && ending.done === 'no body' ? { done: 'no body', warned: true } : ending,
  // The change needs no response, but it is read back, and nothing can be read here.
  'settings:set': (ending) =>
    ('done' in ending && ending.done === 'no body') || ('exitCode' in ending && ending.exitCode === 69)
      ? { exitCode: 69, code: 'unknown_outcome' }
      : ending,
}

/** Calls that say of a change whose response was lost that its outcome is unknown. */
export function saysUnknown({ name }: ServiceCall): boolean {
  return [
    'settings:api:set',
    'users:create',
    'users:update',
    'users:settings:set',
    'users:permissions:assign',
    'api with a body',
  ].includes(name)
}

/** The service's own code stays, as in every other failure. */
function unknownOutcome(call: ServiceCall, ending: Ending): Ending {
  const isLost = 'exitCode' in ending && ending.exitCode === 69 && !ending.code.startsWith('own_code')
  return isLost && saysUnknown(call) ? { exitCode: 69, code: 'unknown_outcome' } : ending
}

/** What a call ends in. */
export function expectedEnding(call: ServiceCall, fault: Fault, faultName: string, json: boolean): Ending {
  const { ending } = fault
  const said = 'shown' in ending ? (call.shown ? ending.shown : ending.notShown) : ending
  const usual = unknownOutcome(call, said)
  const exception = exceptions[call.name] ?? exceptions[commandOf(call.name)]
  return exception ? exception(usual, faultName, json) : usual
}

/** `doctor` gives what it found wrong as its result, so that its stdout is never empty. */
export function reportsFailures({ name }: ServiceCall): boolean {
  return name === 'doctor'
}

/** Calls whose JSON is made from the body rather than the body itself. */
const derived: Record<string, (body: Record<string, unknown>) => unknown> = {
  'history:export': ({ messages }) => ({ messages }),
  'settings:get of a key': () => 'dark',
  'settings:diff': () => ({ changes: [{ path: 'theme.mode', from: 'dark', to: 'light' }] }),
  'settings:apply with nothing to do': () => ({ changes: [], applied: false }),
  'settings:export': ({ x_extra, ...settings }) => ({ ...settings, $unmanaged: { x_extra } }),
}

/** What a call prints as JSON; undefined where that is for another test to say. */
export function expectedJson({ name, answer }: ServiceCall): unknown {
  if (name === 'auth:status' || name === 'doctor' || name === 'chat:send streamed') return undefined
  const derive = derived[name]
  return derive ? derive(answer as Record<string, unknown>) : answer
}
