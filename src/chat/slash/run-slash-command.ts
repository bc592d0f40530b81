import wrapAnsi from 'wrap-ansi'
import { Failure } from '../../contract/failure.ts'
import type { Completions } from '../../terminal/editor/completer.ts'
import { plainText } from '../../terminal/editor/pasted-text.ts'
import { completeMention, completePath } from '../attachments.ts'
import type { Session, SlashCommand } from '../session.ts'
import { conversationCommands } from './conversation-commands.ts'
import { messageCommands } from './message-commands.ts'
import { parameterCommands } from './parameter-commands.ts'
import { replyCommands } from './reply-commands.ts'
import { sessionCommands } from './session-commands.ts'

const help: SlashCommand = {
  name: 'help',
  summary: 'Show commands and keys',
  run: (session) => session.output.show(describeCommands(session.screen.columns)),
}

/** In the order of the help. */
export const slashCommands: readonly SlashCommand[] = [
  help,
  ...conversationCommands,
  ...parameterCommands,
  ...messageCommands,
  ...replyCommands,
  ...sessionCommands,
]

/**
 * Runs `/name argument`, of which the argument may be pasted. Any unambiguous prefix of a name is accepted.
 * @throws Failure `usage` if there is no such command; the failures of the command
 */
export async function runSlashCommand(session: Session, line: string): Promise<void> {
  const [, name = '', entered = ''] = /^\/(\S*)\s*([\s\S]*)$/.exec(line.trim()) ?? []
  const argument = plainText(entered)
  const command = findCommand(name)
  if (argument !== '' && command.argument === undefined) {
    throw new Failure('usage', `/${command.name} takes no argument`, { hint: escapeHint(plainText(line)) })
  }
  await command.run(session, argument, entered)
}

function findCommand(name: string): SlashCommand {
  const exact = slashCommands.find((command) => command.name === name || command.alias === name)
  const found = exact ? [exact] : slashCommands.filter((command) => command.name.startsWith(name))
  const [command, ...others] = name === '' ? [] : found
  if (!command) {
    throw new Failure('usage', `Unknown command /${name}`, {
      hint: `List the commands with /help. ${escapeHint(`/${name}`)}`,
    })
  }
  if (others.length === 0) return command
  throw new Failure('usage', `/${name} is ambiguous: ${found.map((one) => `/${one.name}`).join(', ')}`)
}

function escapeHint(line: string): string {
  return `To send it as a message, type: /${line.trim().split('\n')[0]}`
}

/** Minimum width of the summaries, in cells. With less, each is on a separate line. */
const minSummaryWidth = 30

function describeCommands(columns: number): string {
  const names = slashCommands.map(({ name, argument }) => `/${name}${argument ? ` ${argument}` : ''}`)
  const indent = Math.max(...names.map((name) => name.length)) + 2
  const room = columns - indent
  const commands = slashCommands.map(({ summary }, index) => {
    const name = names[index] ?? ''
    if (room < minSummaryWidth) return `${name}\n    ${summary}`
    return `${name.padEnd(indent)}${wrapAnsi(summary, room).replaceAll('\n', `\n${' '.repeat(indent)}`)}`
  })
  return [...commands, '', ...keys].join('\n')
}

const keys = [
  'Enter sends the message. Ctrl-J, Alt-Enter, or \\ Enter starts a new line.',
  'Up and Down recall earlier messages, Ctrl-R searches them, Tab completes, Ctrl-G opens your editor.',
  '@path in a message sends that file with it, if it exists; \\@path does not, nor does pasted text.',
  'Ctrl-C stops a reply or clears the line. Ctrl-D leaves. //text sends /text, without files from @path.',
]

/**
 * Completes the names of commands, their arguments, and `@path` in a message.
 * @param before the line up to the cursor
 */
export async function completeInput(session: Session, before: string): Promise<Completions> {
  const [, name, argument] = /^\/(\S*)(?:\s+(.*))?$/s.exec(before) ?? []
  if (name === undefined) return completeMention(before, session.options.run)
  if (argument === undefined) {
    const found = slashCommands.filter((command) => command.name.startsWith(name))
    const candidates = found.map(({ name: whole, argument }) => (argument ? `${whole} ` : whole))
    return { start: 1, candidates }
  }
  const start = before.length - argument.length
  const command = slashCommands.find((one) => one.name === name)
  if (command?.takesPath) return completePath(argument, start, session.options.run)
  const found = (await command?.candidates?.(session, argument)) ?? []
  if ('get' in found) return { start, candidates: [...found.keys()], about: found }
  return { start, candidates: found.filter((one) => one.startsWith(argument)) }
}
