import { Failure } from '../../contract/failure.ts'
import type { Parameters } from '../conversation.ts'
import { switchToCompletions, switchToContext } from '../reply/conversation-mode.ts'
import type { Session } from '../session.ts'
import { chooseModel, listModels } from './choose-model.ts'
import type { SlashCommand } from './slash-command.ts'

/** Commands that set the model and the parameters of the next replies. */
export const parameterCommands: readonly SlashCommand[] = [
  {
    name: 'model',
    argument: '[ID [--force]]',
    summary: 'Choose the model, or list the models',
    candidates: async ({ models, client, options }) => [
      ...Object.keys(options.aliases),
      ...(await models.recall(client, options.signal)),
    ],
    run: (session, id) => (id === '' ? listModels(session) : chooseModel(session, id)),
  },
  {
    name: 'system',
    argument: '[TEXT|off]',
    summary: 'Show, set, or unset the system prompt',
    run: (session, text) => {
      if (text === '')
        return session.output.show(session.conversation.parameters.system ?? 'No system prompt is set.')
      return changeParameters(session, { system: text === 'off' ? undefined : text })
    },
  },
  {
    name: 'set',
    argument: '[temperature|max_tokens VALUE|off]',
    summary: 'Show, set, or unset a parameter',
    candidates: () => ['temperature ', 'max_tokens '],
    run: (session, assignment) => {
      if (assignment === '') return session.output.show(describeParameters(session.conversation.parameters))
      return changeParameters(session, readAssignment(assignment))
    },
  },
]

/** Sets parameters. The send request has no field for them, so the conversation moves to this machine. */
export async function changeParameters(session: Session, parameters: Parameters): Promise<void> {
  const current = session.conversation.parameters
  const names = Object.keys(parameters) as (keyof Parameters)[]
  if (names.every((name) => parameters[name] === current[name])) {
    return session.output.note(describeParameters(current))
  }
  await switchToCompletions(session, 'the service accepts this setting only with the full conversation')
  Object.assign(session.conversation.parameters, parameters)
  session.recorder.options(session.conversation)
  session.output.note(describeParameters(session.conversation.parameters))
  if (!switchToContext(session) && !session.conversation.hasParameters) {
    session.output.note(
      '[this machine still stores the conversation, because only it has all messages; /new starts a new one]',
    )
  }
}

function readAssignment(assignment: string): Parameters {
  const [, name, value = ''] = /^(\w+)(?:\s*=\s*|\s+)(\S+)$/.exec(assignment) ?? []
  const number = value === 'off' ? undefined : Number(value)
  if (name === 'temperature') {
    if (number !== undefined && !Number.isFinite(number))
      throw new Failure('usage', `Invalid temperature "${value}"`, {
        hint: 'For example: /set temperature 0.2',
      })
    return { temperature: number }
  }
  if (name === 'max_tokens') {
    if (number !== undefined && !Number.isSafeInteger(number))
      throw new Failure('usage', `Invalid max_tokens "${value}": must be an integer`)
    return { maxTokens: number }
  }
  throw new Failure('usage', 'Only temperature and max_tokens can be set', {
    hint: 'For example: /set temperature 0.2, or /set max_tokens off',
  })
}

function describeParameters({ system, temperature, maxTokens }: Parameters): string {
  return [
    `system: ${system ?? 'none'}`,
    `temperature: ${temperature ?? 'default of the service'}`,
    `max_tokens: ${maxTokens ?? 'default of the service'}`,
  ].join('\n')
}
