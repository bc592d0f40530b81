import { fileSizeFlag, textFlag } from '../../cli/flags/flag-types.ts'

/** The flags that add files to a message. */
export const fileFlags = {
  file: textFlag({
    char: 'f',
    helpValue: 'FILE...',
    multiple: true,
    summary: 'Text files to send; - is stdin',
  }),
  'max-file-size': fileSizeFlag({ summary: 'Maximum size of a file, such as 2m (default: 1m)' }),
}

/** The values of these flags, and the words of the command line. */
export interface FileChoice {
  file?: string[] | undefined
  'max-file-size'?: number | undefined
}
