import type { Exchange } from '../../../chat/exchange.ts'
import type { Context } from '../../../cli/context/context.ts'
import { warnOfResponse } from '../../../cli/output/warn-of-response.ts'
import { Failure } from '../../../contract/failure.ts'
import { stripControls } from '../../../terminal/strip-controls.ts'
import type { ReplyPrinter } from '../show-reply.ts'
import { findValue } from './find-value.ts'
import type { ReplySchema } from './json-schema.ts'

/** Maximum number of faults that a message names. */
const shownFaults = 10

/**
 * Prints a JSON value that fits the schema. For a reply that does not fit, another message names the faults.
 * @param request.attempts maximum number of replies
 * @param request.isStreamed as for `Exchange.send`
 * @param findFault see `checkWhole`
 * @throws Failure `conflict` if no reply fits; the last one is in the transcript, or on stderr. `not_whole` if a message
 *   with the faults would not help
 */
export async function printValue(
  exchange: Exchange,
  request: { message: string; schema: ReplySchema; attempts: number; isStreamed: boolean },
  { streams, output }: Context,
  printer: ReplyPrinter,
  findFault: () => Failure | undefined,
): Promise<void> {
  const { schema, attempts } = request
  let message = `${request.message}\n\nReply only with JSON that fits this JSON Schema:\n\n${schema.source}`
  for (let attempt = 1; ; attempt++) {
    printer.begin()
    const response = await exchange.send(message, request)
    printer.end()
    await warnOfResponse(response, output)
    const end = exchange.end?.end
    if (end === 'filtered' || end === 'refusal' || end === 'tool_calls') {
      if (exchange.recorder.path === undefined) printer.sayReply(exchange.reply)
      throw findFault()
    }
    const found = end === 'length' ? { fault: 'it stopped at the token limit' } : findValue(exchange.reply)
    const all = 'fault' in found ? [found.fault] : schema.check(found.value)
    if ('text' in found && all.length === 0)
      return streams.writeData(`${streams.isShown ? stripControls(found.text) : found.text}\n`)
    const faults = [...new Set(all)].slice(0, shownFaults)
    const subject = attempts === 1 ? 'The reply' : `Reply ${attempt} of ${attempts}`
    if (attempt === attempts) throw mismatch(`${subject} does not fit`, faults, exchange, printer)
    output.progress(`${subject} does not fit the JSON Schema: ${faults[0]}`)
    message = `Your reply does not fit the JSON Schema:\n- ${faults.join('\n- ')}\nReply again, only with JSON that fits it.`
  }
}

function mismatch(what: string, faults: string[], exchange: Exchange, printer: ReplyPrinter): Failure {
  const { id, path } = exchange.recorder
  if (path === undefined) printer.sayReply(exchange.reply)
  return new Failure('conflict', `${what} the JSON Schema: ${faults.join('; ')}`, {
    code: 'schema_mismatch',
    hint: path && `The transcript is ${path}. Show it with: chatctl chat show ${id}`,
    details: { faults, ...(path && { path }) },
  })
}
