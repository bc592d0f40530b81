import * as Flags from '@oclif/core/flags'
import { textFlag } from './flag-types.ts'

/**
 * What every command understands. Where a profile may hold the value too, the environment is read
 * by `config/resolve-options.ts`, which knows all four sources, and not by oclif.
 */
const helpGroup = 'GLOBAL'

export const sharedFlags = {
  profile: textFlag({
    char: 'p',
    helpGroup,
    helpValue: '<name>',
    summary: '[env: CHATCTL_PROFILE] Connection to use; "local" is the embedded service.',
  }),
  'base-url': textFlag({
    helpGroup,
    helpValue: '<url>',
    summary: '[env: CHATCTL_BASE_URL] Address of the service.',
  }),
  output: Flags.string({
    char: 'o',
    helpGroup,
    helpValue: '<form>',
    summary: '[env: CHATCTL_OUTPUT] table, json, jsonl, yaml, csv or tsv.',
  }),
  json: Flags.boolean({ helpGroup, summary: '[env: CHATCTL_JSON] Same as --output json.' }),
  fields: textFlag({
    helpGroup,
    env: 'CHATCTL_FIELDS',
    helpValue: '<a,b.c>',
    summary: 'Only these fields, in this order.',
  }),
  jq: textFlag({
    helpGroup,
    env: 'CHATCTL_JQ',
    helpValue: '<expr>',
    summary: 'Filter the JSON result with jq.',
  }),
  quiet: Flags.boolean({
    char: 'q',
    helpGroup,
    env: 'CHATCTL_QUIET',
    summary: 'Say nothing on stderr but errors.',
  }),
  debug: Flags.boolean({
    helpGroup,
    env: 'CHATCTL_DEBUG',
    summary: 'Show requests, time-outs and stacks on stderr.',
  }),
  'no-input': Flags.boolean({ helpGroup, env: 'CHATCTL_NO_INPUT', summary: 'Never ask; fail instead.' }),
  timeout: Flags.string({
    helpGroup,
    helpValue: '<duration>',
    summary: '[env: CHATCTL_TIMEOUT] Longest time for one attempt, of a stream to its first byte (60s).',
  }),
  retries: Flags.string({
    helpGroup,
    helpValue: '<n>',
    summary:
      '[env: CHATCTL_RETRIES] Further attempts where that is safe: never for a POST or PATCH that may have arrived (2).',
  }),
  'max-wait': Flags.string({
    helpGroup,
    helpValue: '<duration>',
    summary: '[env: CHATCTL_MAX_WAIT] Longest wait when rate limited (60s).',
  }),
  'no-color': Flags.boolean({ helpGroup, env: 'CHATCTL_NO_COLOR', summary: 'Write without colour.' }),
}

/** `--timeout` of the commands that wait for a model. */
export const replyTimeoutFlag = {
  ...sharedFlags.timeout,
  summary: '[env: CHATCTL_TIMEOUT] Timeout of one attempt; for a stream, until its first byte (10m).',
}

export const dryRunFlag = Flags.boolean({
  env: 'CHATCTL_DRY_RUN',
  summary: 'Show what would be sent or changed, and do neither.',
})

export const yesFlag = Flags.boolean({
  char: 'y',
  env: 'CHATCTL_YES',
  summary: 'Do not ask; needed off a terminal.',
})
