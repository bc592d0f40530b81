import { extname } from 'node:path'
import { throwWhatIsLeft } from '../../bulk/file-run.ts'
import type { MessageTemplate } from '../../chat/each/message-rows.ts'
import { type BatchReport, sendRows } from '../../chat/each/send-rows.ts'
import { commandWith } from '../../cli/command-line.ts'
import type { Context } from '../../cli/context/context.ts'
import { showPlanned } from '../../cli/context/first-requests.ts'
import { fillTemplate, parseTemplate, type Template, variablesOf } from '../../config/prompts/prompt-file.ts'
import { Failure } from '../../contract/failure.ts'
import { joinLines } from '../../contract/notation/text.ts'
import { batchView } from '../../view/chat.ts'
import { countOf, groupDigits } from '../../view/format/quantities.ts'
import { type BulkFlags, readBulkFlags } from '../users/bulk-flags.ts'
import { type MessageLine, openPrompt, readMessageText, readSystem } from './message.ts'
import { offerModelServer } from './offer-model-server.ts'

const maxListedRows = 10

interface EachFlags extends BulkFlags {
  each?: string | undefined
  'on-unknown'?: 'retry' | undefined
  'on-not-whole'?: 'retry' | undefined
  stream?: boolean | undefined
}

/**
 * Sends a message for each row of a file, with a confirmation prompt and progress, and shows the numbers of rows.
 * @throws Failure `incomplete` if rows failed or have an unknown outcome, or else `not_whole` if replies are not whole;
 *   the reason of an early end
 */
export async function sendEach(context: Context, line: MessageLine, flags: EachFlags): Promise<void> {
  const { resolvePath } = context
  const { each: file = '', results = '', stream } = flags
  if (stream) throw new Failure('usage', '--stream and --each cannot be used together')
  await offerModelServer(context)
  const options = { ...readBulkFlags(flags), file }
  const sent = await sendRows(context, {
    ...options,
    readTemplate: () => readTemplate(context, line),
    results: resolvePath(results),
    retried: new Set([
      'failed' as const,
      ...(flags['on-unknown'] ? ['unknown' as const] : []),
      ...(flags['on-not-whole'] ? ['not_whole' as const] : []),
    ]),
    isStreamed: stream !== false,
  })
  if (!('planned' in sent)) return showReport(context, sent, { ...options, results, line })
  const { done: already_done, rows, requests } = sent.planned
  await showPlanned(context, batchView, { rows, requests, already_done }, sent.first)
}

/**
 * The message with its variables. Those of a prompt that `--var` does not set are columns, too.
 * @throws Failure `usage` without a variable, or for one with an invalid name; as `readMessage`
 */
async function readTemplate(context: Context, line: MessageLine): Promise<MessageTemplate> {
  const { flags } = line
  const text = parse(await readMessageText(line, context), 'MESSAGE')
  const system = await readSystem(flags.system, context)
  const ownSystem = system === undefined ? undefined : parse(system, 'The system message')
  const prompt = await openPrompt(undefined, flags, context)
  const columns = [...new Set([...variablesOf(text), ...variablesOf(ownSystem ?? []), ...prompt.variables])]
  if (columns.length === 0) {
    throw new Failure('usage', 'The message has no {{column}}, so every row would send the same message', {
      hint: 'For example: chatctl chat send "Summarize: {{text}}" --each rows.csv --results replies.jsonl',
    })
  }
  const fill: MessageTemplate['fill'] = (values) => {
    const own = new Map([...values].filter(([name]) => prompt.variables.includes(name)))
    const { message, model, ...filled } = prompt.fill(fillTemplate(text, values), own)
    const parameters = {
      system: ownSystem ? fillTemplate(ownSystem, values) : filled.system,
      temperature: flags.temperature ?? filled.temperature,
      maxTokens: flags['max-tokens'] ?? filled.maxTokens,
    }
    return { message, model, parameters }
  }
  // Finds values of --var that the prompt does not have.
  fill(new Map(columns.map((name) => [name, name])))
  return { columns, fill }
}

function parse(text: string, name: string): Template {
  const { template, faults } = parseTemplate(text)
  if (faults[0] === undefined) return template
  throw new Failure('usage', `${name}: ${faults[0].words}`)
}

const outcomes = {
  failed: 'Line N failed',
  unknown: 'The outcome of line N is unknown',
  not_whole: 'The reply to line N is not whole',
}

async function showReport(
  context: Context,
  report: BatchReport,
  options: { results: string; restart: boolean; line: MessageLine },
): Promise<void> {
  const { output } = context
  const { rows, counts, alreadyDone, remaining, requests, problems, failedRows, resultsFailure } = report
  const lines = problems.slice(0, maxListedRows).map(({ line, status, error }) => {
    return `${outcomes[status].replace('N', String(line))}: ${error}`
  })
  const more = problems.length - lines.length
  if (more > 0) lines.push(`and ${groupDigits(more)} more in ${options.results}`)
  if (lines.length > 0) await output.warn(joinLines(lines))
  await output.show(batchView, {
    ...{ rows, ...counts, already_done: alreadyDone, remaining, requests },
    ...(resultsFailure ? {} : { results: options.results }),
    ...(failedRows !== undefined && { failed_rows: failedRows }),
  })
  if (requests + remaining + problems.length === 0) output.notice('Nothing was left to send.')
  const again = (changed: Record<string, string>) =>
    commandWith({ id: 'chat:send', argv: options.line.argv }, changed, ['restart', 'skip-invalid'])
  if (counts.unknown > 0) {
    output.notice(`To send rows again whose outcome is unknown, run: ${again({ 'on-unknown': 'retry' })}`)
  }
  throwWhatIsLeft(context, report, options, (path) => {
    const name = `${path.slice(0, -extname(path).length)}.results.jsonl`
    const resent = counts.failed > 0 ? 'The same command sends failed rows again. ' : ''
    return `${resent}To change the rows first, edit ${path} and run: ${again({ each: path, results: name })}`
  })
  if (counts.not_whole === 0) return
  throw new Failure('not_whole', `${countOf(counts.not_whole, 'row')} got a reply that is not whole`, {
    hint: `Send these rows again with: ${again({ 'on-not-whole': 'retry' })}`,
  })
}
