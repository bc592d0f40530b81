import * as Flags from '@oclif/core/flags'
import { requestDefaults } from '../../contract/request-defaults.ts'
import type { Output } from '../output/output.ts'
import { integerFlag, textFlag, textListFlag } from './flag-types.ts'

const { timeout, replyTimeout, retries, maxWait } = requestDefaults

/**
 * What every command understands. Where a profile may hold the value too, the environment is read
 * by `config/resolve-options.ts`, which knows all four sources, and not by oclif.
 */
const helpGroup = 'GLOBAL'

export const sharedFlags = {
  profile: textFlag({
    char: 'p',
    helpGroup,
    helpValue: 'NAME',
    summary: 'Profile to use; local is the embedded service',
  }),
  'base-url': textFlag({ helpGroup, helpValue: 'URL', summary: 'Base URL of the service' }),
  output: Flags.string({
    char: 'o',
    helpGroup,
    helpValue: 'FORMAT',
    summary: 'Output format: table, json, jsonl, yaml, csv, or tsv',
  }),
  json: Flags.boolean({ helpGroup, summary: 'Same as --output json' }),
  fields: textFlag({
    helpGroup,
    env: 'CHATCTL_FIELDS',
    helpValue: 'FIELDS',
    summary: 'Print only these fields, in this order: id,email',
  }),
  jq: textFlag({
    helpGroup,
    env: 'CHATCTL_JQ',
    helpValue: 'FILTER',
    summary: 'Filter the JSON result with a jq expression',
  }),
  quiet: Flags.boolean({
    char: 'q',
    helpGroup,
    env: 'CHATCTL_QUIET',
    summary: 'Print only errors on stderr',
  }),
  debug: Flags.boolean({
    helpGroup,
    env: 'CHATCTL_DEBUG',
    summary: 'Print requests and responses on stderr, without secrets',
  }),
  'no-input': Flags.boolean({
    helpGroup,
    env: 'CHATCTL_NO_INPUT',
    summary: 'Fail instead of prompting for input',
  }),
  timeout: Flags.string({
    helpGroup,
    helpValue: 'DURATION',
    summary: `Timeout of one attempt; for a stream, until the first byte arrives (default: ${timeout / 1000}s)`,
  }),
  retries: Flags.string({
    helpGroup,
    helpValue: 'N',
    summary: `Maximum number of retries; a POST or PATCH that may have reached the service is never sent again (default: ${retries})`,
  }),
  'max-wait': Flags.string({
    helpGroup,
    helpValue: 'DURATION',
    summary: `Maximum wait when rate limited (default: ${maxWait / 1000}s)`,
  }),
  'no-color': Flags.boolean({ helpGroup, env: 'CHATCTL_NO_COLOR', summary: 'Disable color' }),
}

/** `--output` of the commands that also offer Markdown. */
export const markdownOutputFlag = {
  ...sharedFlags.output,
  summary: 'Output format: table, json, jsonl, yaml, csv, tsv, or markdown',
}

/** `--timeout` of the commands that wait for a model. */
export const replyTimeoutFlag = {
  ...sharedFlags.timeout,
  summary: `Timeout until the reply begins (default: ${replyTimeout / 60_000}m)`,
}

export const storedFlags = {
  local: Flags.boolean({
    exclusive: ['stored'],
    summary: 'Only conversations that this machine alone stores',
  }),
  stored: Flags.boolean({ exclusive: ['local'], summary: 'Only conversations that the service stores' }),
}

/** More rows than any list has. */
export const allRows = 2 ** 31

/** How many rows of a list that is on this machine are shown; see `rowsToShow`. */
export const rowLimitFlag = (what: string, byDefault: number, unless = 'with --json, all') =>
  integerFlag({
    char: 'n',
    helpValue: 'N',
    min: 1,
    max: allRows,
    summary: `Maximum number of ${what} (default: ${byDefault}; ${unless})`,
  })

/**
 * A program gets the whole list, unless it asks for less. What is omitted is named in a notice.
 * @param limit of the command line
 */
export function rowsToShow(limit: number | undefined, { isDocument }: Output, byDefault: number): number {
  return limit ?? (isDocument ? allRows : byDefault)
}

export const noSaveFlag = Flags.boolean({ summary: 'Do not record the chat on this machine' })

export const dryRunFlag = Flags.boolean({
  env: 'CHATCTL_DRY_RUN',
  summary: 'Print what would be done, without doing it',
})

export const yesFlag = Flags.boolean({
  char: 'y',
  env: 'CHATCTL_YES',
  summary: 'Skip the confirmation prompt (required when stdin is not a terminal)',
})

export const metadataFlag = textListFlag({
  helpValue: 'KEY=TEXT',
  summary: 'Metadata as text; KEY:=JSON for a number or other JSON',
})
