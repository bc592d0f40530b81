import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../cli/base-command.ts'
import { commandFor, commandLine } from '../cli/command-line.ts'
import type { Context } from '../cli/context/context.ts'
import { calls } from '../cli/documented-requests.ts'
import { argument, textFlag, textListFlag } from '../cli/flags/flag-types.ts'
import { dryRunFlag } from '../cli/flags/shared-flags.ts'
import { parseNestedFields } from '../cli/input/key-values.ts'
import { readStdin, readTextFile } from '../cli/input/read-input.ts'
import type { RawResponse } from '../client/response/response.ts'
import { endpoints } from '../contract/endpoints.ts'
import { Failure } from '../contract/failure.ts'
import { parseJson, tryParse } from '../contract/notation/exact-json.ts'
import { faultOfUtf8 } from '../contract/notation/text.ts'
import { describeBytes } from '../view/format/quantities.ts'
import { documentView } from '../view/format/view.ts'
import { pageThroughHistory, readPagedQuery } from './history/page-through-history.ts'

export default class Api extends BaseCommand {
  static override summary = 'Send a request to any endpoint of the service'
  static override description =
    'PATH is relative to the base URL and may contain a query. A JSON response is printed as JSON; any other response is printed unchanged. A status other than 2xx is an error. The body of an error is printed unchanged, and not at all with --jq or --fields.'
  static override requests = { ...calls(), note: 'the one you name.', effect: 'changes the service' as const }
  static override otherViews = { '--json': documentView }
  static override completes = { method: 'method', path: 'endpoint' } as const
  static override examples = BaseCommand.toExamples({
    'Read an endpoint': 'chatctl api /v1/settings',
    'Send JSON': 'chatctl api PATCH /v1/settings --data \'{"theme":{"mode":"dark"}}\'',
    'Send fields and print one value': 'chatctl api POST /api/chat/send --field message=Hello --jq .response',
    'Print all past messages, one on each line': 'chatctl api /api/chat/history --paginate -o jsonl',
  })
  static override usage = 'api [METHOD] PATH'
  static override args = {
    method: argument('HTTP method (default: GET)'),
    path: argument('Path that begins with /'),
  }
  static override flags = {
    data: textFlag({
      char: 'd',
      helpValue: 'JSON',
      summary: 'Request body: JSON, @FILE, or - for stdin',
      exclusive: ['field'],
    }),
    field: textListFlag({
      char: 'F',
      helpValue: 'KEY=VALUE',
      summary: 'Field of a JSON body: KEY=TEXT or KEY:=JSON; a.b nests (a\\.b does not), a[] is a list item',
    }),
    header: textListFlag({ char: 'H', helpValue: 'HEADER', summary: 'Request header, "Name: value"' }),
    include: Flags.boolean({ char: 'i', summary: 'Print the status and headers first (text output only)' }),
    paginate: Flags.boolean({
      summary: 'Print all pages (only GET /api/chat/history)',
      exclusive: ['data', 'field', 'header', 'include'],
    }),
    'dry-run': dryRunFlag,
  }
  protected override readonly sendsNamedRequest = true

  async run(): Promise<void> {
    const { args, flags, context } = await this.start(Api)
    const target = readTarget(args)
    if (args.path === undefined && (flags.data ?? flags.field) !== undefined) {
      throw new Failure('usage', 'A request body requires a method', {
        hint: `For example: ${commandLine('api', 'POST', target.path)}`,
      })
    }
    if (flags.include && !context.output.showsText(documentView)) {
      throw new Failure(
        'usage',
        '--include prints headers as text and cannot be combined with an output format',
        {
          hint: 'Omit --include, or omit --output, --json, --fields, --jq, CHATCTL_OUTPUT, and CHATCTL_JSON.',
        },
      )
    }
    if (flags.paginate) {
      const query = readPagedQuery(target)
      return pageThroughHistory(await context.connect(), query, context)
    }
    const body = await readRequestBody({ data: flags.data, fields: flags.field }, context)
    const client = await context.connect()
    // GET of the same path reads what PATCH changes (docs/interface.md, "Endpoints").
    const check = target.method === 'PATCH' ? ` with: ${commandFor(context, 'api', 'GET', target.path)}` : ''
    const hint = `Check the effect before you send the request again${check}`
    const response = await this.change(
      client.send({ ...target, headers: parseHeaders(flags.header ?? []), body }),
      hint,
    )
    if (flags.include) await showHead(response, context)
    const { failure } = response
    if (!failure) return showBody(response, context)
    await showErrorBody(response, context)
    await this.change(Promise.reject(failure), hint)
  }
}

async function showHead({ status, statusText, headers }: RawResponse, { output }: Context): Promise<void> {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\n`)
  await output.showBytes(new TextEncoder().encode(`HTTP ${status} ${statusText}\n${lines.join('')}\n`))
}

async function showBody({ status, bytes, text }: RawResponse, { output }: Context): Promise<void> {
  const json = tryParse(text, parseJson)
  if (json === undefined && output.showsText(documentView)) return output.showBody(bytes)
  if (json === undefined && bytes.length > 0) {
    throw new Failure(
      'invalid_response',
      'The response is not JSON, so it cannot be shown in this output format',
      {
        status,
        hint: 'The request was sent. To print the response body unchanged, omit --output, --json, --fields, and --jq.',
      },
    )
  }
  await output.show(documentView, json)
  const invalid = faultOfUtf8(bytes)
  if (invalid !== undefined) await output.warn(invalid)
}

/** A filter is written for the response to a success, so that an error leaves a pipe empty. */
async function showErrorBody({ bytes, text, cut }: RawResponse, { output }: Context): Promise<void> {
  if (output.isFiltered || bytes.length === 0) return
  const json = tryParse(text, parseJson)
  if (output.showsText(documentView)) await output.showBody(bytes)
  else if (json !== undefined) await output.show(documentView, json)
  else return output.warn('The response body is not JSON, so it is not printed in this output format')
  if (cut) await output.warn(`The response body is truncated after ${describeBytes(bytes.length)}`)
}

/** The method defaults to GET. */
function readTarget({ method, path }: { method?: string | undefined; path?: string | undefined }): {
  method: string
  path: string
} {
  if (method !== undefined && path !== undefined) return { method, path }
  if (method?.startsWith('/')) return { method: 'GET', path: method }
  if (method === undefined || /^(get|head|options|post|put|patch|delete)$/i.test(method)) {
    throw new Failure('usage', 'Missing argument PATH', { hint: 'See: chatctl api --help' })
  }
  const known = Object.values(endpoints).find(
    (one) => one.method === 'GET' && one.path.endsWith(`/${method}`),
  )
  throw new Failure('usage', `"${method}" is not a path. A path begins with /`, {
    hint: `Did you mean: ${commandLine('api', 'GET', known?.path ?? `/${method}`)}`,
  })
}

function parseHeaders(lines: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(':')
      if (at < 1) throw new Failure('usage', `--header "${line}" is not "Name: value"`)
      const name = line.slice(0, at).trim()
      if (name.toLowerCase() === 'authorization') {
        throw new Failure('refused', 'chatctl sets the header Authorization itself, so --header cannot', {
          hint: 'To use another credential, set CHATCTL_API_KEY, or sign in with: chatctl auth login --with-api-key',
        })
      }
      return [name, line.slice(at + 1).trim()]
    }),
  )
}

/**
 * The body of `chatctl api`, checked to be JSON before it is sent as it stands.
 * @throws Failure `refused` for a text that is not JSON
 */
async function readRequestBody(
  source: { data: string | undefined; fields: readonly string[] | undefined },
  context: Context,
): Promise<string | undefined> {
  if (source.fields) return JSON.stringify(parseNestedFields(source.fields, '--field'))
  if (source.data === undefined) return undefined
  const text = await readData(source.data, context)
  try {
    JSON.parse(text)
    return text
  } catch (cause) {
    throw new Failure('refused', `The request body is not valid JSON: ${(cause as Error).message}`, { cause })
  }
}

function readData(data: string, context: Context): Promise<string> | string {
  if (data === '-') return readStdin('a JSON body', context)
  return data.startsWith('@') ? readTextFile(data.slice(1), context) : data
}
