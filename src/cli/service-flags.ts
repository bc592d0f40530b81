import { textFlag } from './flag-types.ts'

/** Where the embedded service keeps its data; every `service` command takes it. */
export const dataFlag = textFlag({
  helpValue: '<dir>',
  summary: 'Data folder of the service; $XDG_DATA_HOME/chatctl unless said.',
})

/** Where the data lies instead; every `service` command that opens it takes this. */
export const databaseFlag = textFlag({
  helpValue: '<url>',
  env: 'CHATCTL_DATABASE',
  summary: 'PostgreSQL for the data, postgres://user@host:5432/name.',
})
