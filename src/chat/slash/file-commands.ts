import { describeFiles } from '../attachments.ts'
import type { SlashCommand } from './slash-command.ts'

/** Commands for the files of the next message. */
export const fileCommands: readonly SlashCommand[] = [
  {
    name: 'file',
    argument: '[PATH|off]',
    summary: 'Send a text file with the next message, list these files, or remove them',
    takesPath: true,
    run: ({ attachments, output }, path) => {
      if (path === '') {
        const { files } = attachments
        const none = 'No files are attached. To attach one: /file PATH, or @PATH in the message'
        return output.show(files.length === 0 ? none : describeFiles(files))
      }
      if (path === 'off') {
        attachments.clear()
        return output.note('The next message is sent without files')
      }
      // As other programs quote a path that contains a space.
      const file = attachments.attach(path.replace(/^(["'])(.+)\1$/, '$2'))
      output.note(`The next message is sent with ${describeFiles([file])}`)
    },
  },
]
