import { commandOf, type ServiceCall } from '../../support/command-lines.ts'
import type { Ending, Fault } from './faults.ts'

/** Maximum number of retries, which every cell passes with `--retries`. */
export const retries = 2

/** The requests that the service receives, in order. */
export function expectedRequests(call: ServiceCall, fault: Fault, faultName: string): string[] {
  const { readsBack } = call
  if (call.name !== 'settings:set' || readsBack === undefined) return requestsOf(call, fault, faultName)
  // The ledger has the values before the change, if the service shows them.
  const before = repeated(readsBack, fault)
  if (faultName === '429, then success') return [...before, call.endpoint, readsBack]
  return [...before, ...requestsOf(call, fault, faultName)]
}

function requestsOf(call: ServiceCall, fault: Fault, faultName: string): string[] {
  const asked = repeated(call.endpoint, fault)
  // The service may have rejected only the page size, so the request is sent again without it.
  if (call.name === 'history:export' && ['400', '422'].includes(faultName)) return [...asked, ...asked]
  // A rejected change was not made, so nothing is read back.
  if (call.readsBack === undefined || isRefusal(fault)) return asked
  // `doctor` requests the models only if its first request succeeds.
  if (reportsFailures(call) && !isSuccess(fault)) return asked
  // By then the rate limit is over.
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

/** Calls that differ from the others, with the reason. */
const exceptions: Record<string, (ending: Ending, faultName: string, json: boolean) => Ending> = {
  // Any response body is the result. Only with JSON output does it have to be JSON.
  api: (ending, faultName, json) => {
    if (faultName !== 'a body that is not JSON' && faultName !== 'a web page') return ending
    return json ? { exitCode: 1, code: 'invalid_response' } : { done: 'body' }
  },
  // A user whose id is not in the response cannot be found again.
  'users:create': (ending) =>
    'done' in ending && ending.done === 'no body' ? { done: 'no body', warned: true } : ending,
  // The change needs no response, but it is read back, and here that response is unusable.
  'settings:set': (ending) =>
    ('done' in ending && ending.done === 'no body') || ('exitCode' in ending && ending.exitCode === 69)
      ? { exitCode: 69, code: 'unknown_outcome' }
      : ending,
}

/** Calls that report an unknown outcome if the response to a change is lost. */
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

/** The service's own error code is kept, as in every other failure. */
function unknownOutcome(call: ServiceCall, ending: Ending): Ending {
  const isLost = 'exitCode' in ending && ending.exitCode === 69 && !ending.code.startsWith('own_code')
  return isLost && saysUnknown(call) ? { exitCode: 69, code: 'unknown_outcome' } : ending
}

/** How a call ends. */
export function expectedEnding(call: ServiceCall, fault: Fault, faultName: string, json: boolean): Ending {
  const { ending } = fault
  const said = 'shown' in ending ? (call.shown ? ending.shown : ending.notShown) : ending
  const usual = unknownOutcome(call, said)
  const exception = exceptions[call.name] ?? exceptions[commandOf(call.name)]
  return exception ? exception(usual, faultName, json) : usual
}

/** `doctor` prints the failures it finds as its result, so its stdout is never empty. */
export function reportsFailures({ name }: ServiceCall): boolean {
  return name === 'doctor'
}

/** Calls that print JSON derived from the response body instead of the body itself. */
const derived: Record<string, (body: Record<string, unknown>) => unknown> = {
  'history:export': ({ messages }) => ({ messages }),
  'settings:get of a key': () => 'dark',
  'settings:diff': () => ({ changes: [{ path: 'theme.mode', from: 'dark', to: 'light' }] }),
  'settings:apply with nothing to do': () => ({ changes: [], applied: false }),
  'settings:export': ({ x_extra, ...settings }) => ({ ...settings, $unmanaged: { x_extra } }),
}

/** What a call prints as JSON; undefined if another test checks it. */
export function expectedJson({ name, answer }: ServiceCall): unknown {
  if (name === 'auth:status' || name === 'doctor' || name === 'chat:send streamed') return undefined
  const derive = derived[name]
  return derive ? derive(answer as Record<string, unknown>) : answer
}
