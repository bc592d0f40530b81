import { textFlag } from './flag-types.ts'

/** Where the embedded service keeps its data; every `service` command takes it. */
export const dataFlag = textFlag({
  helpValue: '<dir>',
  summary: 'Data folder of the service; $XDG_DATA_HOME/chatctl unless said.',
})
