import type { ServiceCall } from '../../support/command-lines.ts'
import { endingWith, type SentEnd, sentEnds } from '../../support/reply-endings.ts'
import {
  answer,
  type Behavior,
  delayed,
  empty,
  failing,
  garbage,
  hangUp,
  html502,
  json,
  limited,
  redirect,
  reset,
  resetMidBody,
  type Script,
  shortBody,
  silent,
  webPage,
} from '../../support/scripted-server.ts'

/** How a call ends: done, with or without a body to show, or with an error. */
export type Ending = { done: 'body' | 'no body'; warned?: boolean } | { exitCode: number; code: string }

/**
 * How often a request is sent: once, a second time after a 429, or until no retries are left if the method
 * allows them.
 */
type Sent = 'once' | 'twice' | 'until repeats are used up'

/** One behavior of a service, with the result according to docs/exit-codes.md. */
export interface Fault {
  script(call: ServiceCall): Script
  sent: Sent
  /** How a call ends may depend on whether the interface documents the response body of the endpoint. */
  ending: Ending | { shown: Ending; notShown: Ending }
}

const status = (status: number, exitCode: number, sent: Sent = 'once'): Fault => ({
  script: () => failing(status, `own_code_${status}`, `In its own words: ${status}`),
  sent,
  ending: { exitCode, code: `own_code_${status}` },
})

const same =
  (behavior: Behavior): Fault['script'] =>
  () =>
    behavior

const useless: Ending = { exitCode: 1, code: 'invalid_response' }

export const faults = {
  success: { script: (call) => json(200, call.answer), sent: 'once', ending: { done: 'body' } },
  '201 with a Location': {
    script: (call) => json(201, call.answer, { location: '/v1/elsewhere/x' }),
    sent: 'once',
    ending: { done: 'body' },
  },
  'a slow success': {
    script: (call) => delayed(300, json(200, call.answer)),
    sent: 'once',
    ending: { done: 'body' },
  },
  'a redirect to another origin': {
    script: same(redirect(307, 'http://127.0.0.1:9/v1/elsewhere')),
    sent: 'once',
    ending: { exitCode: 1, code: 'rejected' },
  },
  400: status(400, 1),
  401: status(401, 4),
  403: status(403, 5),
  404: status(404, 6),
  'a 404 with commands of a CI log': {
    script: same(failing(404, 'crafted', 'x\n::set-output name=a::b\r##vso[task.complete]c')),
    sent: 'once',
    ending: { exitCode: 6, code: 'crafted' },
  },
  409: status(409, 7),
  413: status(413, 1),
  422: status(422, 1),
  '429, then success': {
    script: (call) => [limited({ 'retry-after': '0' }), json(200, call.answer)],
    sent: 'twice',
    ending: { done: 'body' },
  },
  '429 forever': {
    script: same(limited({ 'retry-after': '1' })),
    sent: 'twice',
    ending: { exitCode: 75, code: 'rate_limit_exceeded' },
  },
  500: status(500, 69, 'until repeats are used up'),
  503: status(503, 69, 'until repeats are used up'),
  '502 with a web page': {
    script: same(html502),
    sent: 'until repeats are used up',
    ending: { exitCode: 69, code: 'server_error' },
  },
  reset: {
    script: same(reset),
    sent: 'until repeats are used up',
    ending: { exitCode: 69, code: 'unreachable' },
  },
  'a connection that is closed': {
    script: same(hangUp),
    sent: 'until repeats are used up',
    ending: { exitCode: 69, code: 'unreachable' },
  },
  'an interrupted response': {
    script: same(resetMidBody()),
    sent: 'until repeats are used up',
    ending: { exitCode: 69, code: 'truncated' },
  },
  'a response that is too short': {
    script: same(shortBody()),
    sent: 'until repeats are used up',
    ending: { exitCode: 69, code: 'truncated' },
  },
  'no response': {
    script: same(silent),
    sent: 'until repeats are used up',
    ending: { exitCode: 69, code: 'timeout' },
  },
  'a body that is not JSON': {
    script: same(garbage),
    sent: 'once',
    ending: { shown: useless, notShown: { done: 'no body', warned: true } },
  },
  'a web page': {
    script: same(webPage),
    sent: 'once',
    ending: { shown: useless, notShown: { exitCode: 69, code: 'invalid_response' } },
  },
  'no body': { script: same(empty), sent: 'once', ending: { shown: useless, notShown: { done: 'no body' } } },
  204: { script: same(answer(204)), sent: 'once', ending: { shown: useless, notShown: { done: 'no body' } } },
} satisfies Record<string, Fault>

/** How a reply can end, except completely: the behaviors of a service for the calls that print a reply. */
export const replyEnds: Record<string, Fault> = Object.fromEntries(
  Object.entries(sentEnds).flatMap(([end, [, , exitCode]]) => {
    if (exitCode === 0) return []
    const code = exitCode === 8 ? end : 'server_error'
    const script = same(endingWith(end as SentEnd))
    return [[`a reply that ends: ${end}`, { script, sent: 'once', ending: { exitCode, code } }]]
  }),
)
