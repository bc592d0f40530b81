import { resolveAlias } from '../../config/model-aliases.ts'
import type { FilledPrompt } from '../../config/prompts/fill-prompt.ts'
import { Failure } from '../../contract/failure.ts'
import { markPasted } from '../../terminal/editor/pasted-text.ts'
import { describeFiles } from '../attachments.ts'
import type { Session, SlashCommand } from '../session.ts'
import { changeParameters } from './parameter-commands.ts'

/** Commands for the text and the files of the next message. */
export const messageCommands: readonly SlashCommand[] = [
  {
    name: 'prompt',
    argument: '[NAME] [KEY=VALUE …] [TEXT]',
    summary: 'Fill the next message with a prompt, or list the prompts',
    candidates: completePrompt,
    run: async (session, argument, entered) => {
      if (argument === '') return listPrompts(session)
      const filled = await fill(session, argument)
      await applyParameters(session, filled)
      // Filling the input lets the user read the message before it is sent.
      const { keyboard } = session
      if (filled.message === '') session.output.note('This prompt sets only parameters. Type a message.')
      // No prompt is a command.
      else keyboard.input.setText(filled.message.replace(argument === entered ? /^\// : /^.*/s, markPasted))
    },
  },
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

async function openPrompts({ options }: Session) {
  const { fillPrompt } = await import('../../config/prompts/fill-prompt.ts')
  const { parsePrompt } = await import('../../config/prompts/prompt-file.ts')
  const { PromptLibrary } = await import('../../config/prompts/prompt-library.ts')
  const library = new PromptLibrary(options.run.directories)
  const read = (name: string) => {
    try {
      return parsePrompt(library.pathOf(name), library.read(name))
    } catch (error) {
      if (!(error instanceof Failure && error.kind === 'not_found')) throw error
      throw error.reworded(error.message, { hint: error.hint ?? 'List the prompts with: /prompt' })
    }
  }
  return { fillPrompt, library, read }
}

async function listPrompts(session: Session): Promise<void> {
  const { library } = await openPrompts(session)
  session.output.show(library.names().join('\n') || `No prompts in ${library.directory}`)
}

/** Reads `NAME KEY=VALUE … TEXT`. A value with white space is in double quotes. */
async function fill(session: Session, argument: string): Promise<FilledPrompt> {
  const [, name = '', given = ''] = /^(\S+)\s*([\s\S]*)$/.exec(argument) ?? []
  const values = new Map<string, string>()
  let input = given
  for (;;) {
    const [assignment, variable, value] = /^([A-Za-z_][\w-]*)=("[^"]*"|\S*)(?:\s+|$)/.exec(input) ?? []
    if (assignment === undefined || variable === undefined || value === undefined) break
    values.set(variable, value.startsWith('"') ? value.slice(1, -1) : value)
    input = input.slice(assignment.length)
  }
  const { fillPrompt, read } = await openPrompts(session)
  const hintFor = (missing: readonly string[]) =>
    `Type: /prompt ${name} ${[...values.keys(), ...missing].map((one) => `${one}=${values.get(one) ?? 'VALUE'}`).join(' ')}`
  return fillPrompt(read(name), { name, values, input, hintFor })
}

/** The parameters apply from now on, as with /model, /system, and /set. */
async function applyParameters(session: Session, filled: FilledPrompt): Promise<void> {
  const { model, message: _, ...parameters } = filled
  if (Object.keys(parameters).length > 0) await changeParameters(session, parameters)
  if (model === undefined) return
  session.conversation.model = resolveAlias(model, session.options.aliases)
  session.recorder.options(session.conversation)
  session.output.note(`Using model ${session.conversation.model} from now on`)
}

/** Names, and then the variables that have no value yet. */
async function completePrompt(session: Session, typed: string): Promise<readonly string[]> {
  const { library, read } = await openPrompts(session)
  const [, before, name = ''] = /^((\S+)\s+(?:.*\s)?)\S*$/s.exec(typed) ?? []
  if (before === undefined) return library.names().map((one) => `${one} `)
  try {
    const free = read(name).variables.filter((variable) => !before.includes(` ${variable}=`))
    return free.map((variable) => `${before}${variable}=`)
  } catch (error) {
    if (error instanceof Failure) return []
    throw error
  }
}
