import type { Row } from './page.ts'

/** docs/exit-codes.md has the error codes of each. */
export const exitCodeMeanings: readonly Row[] = [
  ['0', 'Success'],
  ['1', 'Other failure: a request that the service rejected, a file error, or a bug'],
  ['2', 'Invalid command line, input, or configuration; nothing was sent'],
  ['3', 'Input or confirmation required, or confirmation declined'],
  ['4', 'Not signed in, or the credential was rejected (401)'],
  ['5', 'Permission denied (403)'],
  ['6', 'Not found (404)'],
  [
    '7',
    'Conflict (409), a plan that is out of date or was already sent, or a change that did not take effect',
  ],
  ['9', 'Some of the rows or users failed, were skipped, or have an unknown outcome'],
  ['10', 'Differences found (settings diff --exit-code)'],
  ['69', 'Service unreachable, timeout, 5xx, truncated response, or a change whose outcome is unknown'],
  ['75', 'Rate limited for longer than --max-wait'],
  ['129', 'Ended by SIGHUP'],
  ['130', 'Ended by SIGINT (Ctrl-C)'],
  ['143', 'Ended by SIGTERM'],
]
