import type { Input } from '../../bulk/input/input.ts'
import { FaultList, type InputRow, type RowShape } from '../../bulk/input/input-row.ts'
import { readRows } from '../../bulk/input/read-rows.ts'
import { endpoints } from '../../contract/endpoints.ts'
import { afterColon, Failure, type Outcome } from '../../contract/failure.ts'
import { isRecord } from '../../contract/notation/exact-json.ts'
import { plainValue } from '../../contract/notation/located.ts'
import { joinLines } from '../../contract/notation/text.ts'
import { readWholeReply } from '../../contract/reply/assembly.ts'
import type { CompletionRequest } from '../../contract/resources/completion.ts'
import { describeReplyEnd, isAtLimit } from '../../view/reply-end.ts'
import { Conversation, type Parameters } from '../conversation.ts'

/** The values of a row, by column. */
export type Columns = Readonly<Record<string, unknown>>

/** The message of a row, and its parameters. */
export interface RowMessage {
  message: string
  model?: string | undefined
  parameters: Parameters
}

/** A message whose variables are columns. */
export interface MessageTemplate {
  columns: readonly string[]
  /** @throws Failure `usage` for values with which nothing can be sent */
  fill(values: ReadonlyMap<string, string>): RowMessage
}

/** The message of a row. A string is inserted unchanged, and any other value as JSON. */
export function messageOf({ columns, fill }: MessageTemplate, row: Columns): RowMessage {
  const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))
  return fill(new Map(columns.map((name) => [name, textOf(row[name] ?? '')])))
}

/** A completion if there are parameters, because the other request has no field for them. */
export function requestOf({ message, model, parameters }: RowMessage) {
  const conversation = new Conversation()
  Object.assign(conversation, { model, parameters })
  return conversation.hasParameters
    ? { endpoint: 'createCompletion' as const, body: conversation.completionRequest(message) }
    : { endpoint: 'sendMessage' as const, body: conversation.sendRequest(message) }
}

/** The request of a row, for a dry run. */
export function planRequest(template: MessageTemplate, { line, row = {} }: CheckedRow) {
  const { endpoint, body } = requestOf(messageOf(template, row))
  const { method, path } = endpoints[endpoint]
  return { line, method, path, body }
}

/** The reply to a row, for the results, and why it is not whole. A limit of the batch itself is no reason. */
export function takeReply(body: unknown, { model: asked, max_tokens }: CompletionRequest) {
  const whole = readWholeReply(body)
  const { text: reply, id, contextId: context_id, model = asked, usage, tools, end, reasoning } = whole
  const isOwnLimit = end === 'length' && isAtLimit(whole, max_tokens)
  const why = isOwnLimit ? undefined : describeReplyEnd(whole, reasoning !== '')
  return {
    result: { reply, id, context_id, model, usage, finish_reason: whole.finishReason, end, tools },
    why,
  }
}

/** Rows with any columns, each with a message. */
export function messageRows(template: MessageTemplate): RowShape<Columns> {
  return {
    noun: 'rows',
    listKey: 'rows',
    keepsText: true,
    hasIds: false,
    readColumns: (names) => ({
      names,
      read: (cells) => Object.fromEntries(names.map((name, index) => [name, cells[index]])),
    }),
    readObject: (located, report) => {
      const row = plainValue(located, true)
      if (isRecord(row)) return row
      report([], 'a row must be an object')
      return undefined
    },
    check: (row, _, report) => {
      const missing = template.columns.filter((name) => !Object.hasOwn(row, name))
      for (const name of missing) report([], `${name} is missing`)
      if (missing.length > 0) return
      try {
        if (messageOf(template, row).message.trim() === '') report([], 'the message is empty')
      } catch (error) {
        if (!(error instanceof Failure)) throw error
        report([], afterColon(error.message))
      }
    },
  }
}

export interface CheckedRow extends Pick<InputRow<Columns>, 'index' | 'line' | 'row'> {
  /** Undefined if nothing was sent for it. */
  state?: { did: Outcome | 'unsent'; error: string | undefined; isCurrent: boolean }
  /** Why the row is not sent; undefined if it is valid. */
  fault: string | undefined
}

/** Reads and checks the whole input. @throws Failure `refused` if a variable is no column of the file; as `readRows` */
export async function checkRows(input: Input, template: MessageTemplate) {
  const faults = new FaultList()
  const rows: CheckedRow[] = []
  const known = new Set<string>()
  for await (const { index, line, row, faults: found, csv } of readRows(input, messageRows(template))) {
    for (const name of csv?.columns.names ?? Object.keys(row ?? {})) known.add(name)
    for (const fault of found) faults.add(input.name, fault)
    const fault = found.map(({ message }) => message).join('; ') || undefined
    rows.push({ index, line, row, fault })
  }
  const lacking = template.columns.filter((name) => !known.has(name))
  if (lacking.length === 0 || known.size === 0) return { rows, faults }
  throw new Failure('refused', joinLines([`${input.name} has no column ${lacking.join(', ')}`]), {
    hint: `Columns: ${[...known].join(', ')}.`,
  })
}
