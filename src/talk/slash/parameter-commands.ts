import { Failure } from '../../contract/failure.ts'
import { keepHere, keepOnService } from '../answer/conversation-mode.ts'
import type { Parameters } from '../conversation.ts'
import type { Session } from '../session.ts'
import type { SlashCommand } from './slash-command.ts'

/** What the answers to come are made with. */
export const parameterCommands: readonly SlashCommand[] = [
  {
    name: 'model',
    argument: '[ID]',
    summary: 'Choose the model that answers, or list them',
    candidates: ({ models, client, options }) => models.recall(client, options.signal),
    run: async (session, id) => {
      if (id === '') return listModels(session)
      session.conversation.model = id
      session.recorder.options(session.conversation)
      session.output.note(`Model ${id} from here`)
    },
  },
  {
    name: 'system',
    argument: '[TEXT|off]',
    summary: 'Set the system prompt, for this session',
    run: (session, text) => {
      if (text === '')
        return session.output.say(session.conversation.parameters.system ?? 'No system prompt is set.')
      return change(session, { system: text === 'off' ? undefined : text })
    },
  },
  {
    name: 'set',
    argument: '[temperature|max_tokens VALUE|off]',
    summary: 'Set a parameter, for this session',
    candidates: () => ['temperature ', 'max_tokens '],
    run: (session, assignment) => {
      if (assignment === '') return session.output.say(describeParameters(session.conversation.parameters))
      return change(session, readAssignment(assignment))
    },
  },
]

/** The models that the service offers; the one in use is marked. */
async function listModels(session: Session): Promise<void> {
  const { model, answeredBy } = session.conversation
  const inUse = model ?? answeredBy
  await session.stoppable(async (signal) => {
    const models = await session.models.fetch(session.client, signal)
    session.status.clear()
    const lines = models.map((id) => `${id === inUse ? '*' : ' '} ${id}`)
    session.output.say(lines.length === 0 ? 'The service lists no models.' : lines.join('\n'))
  })
}

/** The send request has no field for them, so that the conversation has to be kept here. */
async function change(session: Session, parameters: Parameters): Promise<void> {
  const inForce = session.conversation.parameters
  const names = Object.keys(parameters) as (keyof Parameters)[]
  if (names.every((name) => parameters[name] === inForce[name])) {
    return session.output.note(describeParameters(inForce))
  }
  await keepHere(session, 'the service takes this only with the whole conversation')
  Object.assign(session.conversation.parameters, parameters)
  session.recorder.options(session.conversation)
  session.output.note(describeParameters(session.conversation.parameters))
  if (!keepOnService(session) && !session.conversation.hasParameters) {
    session.output.note(
      '[replies are still not streamed: only this machine has all that was said; /new begins another conversation]',
    )
  }
}

function readAssignment(assignment: string): Parameters {
  const [, name, value = ''] = /^(\S+?)(?:\s*=\s*|\s+)(\S+)$/.exec(assignment) ?? []
  const number = value === 'off' ? undefined : Number(value)
  if (name === 'temperature') {
    if (number !== undefined && !Number.isFinite(number))
      throw new Failure('usage', `"${value}" is no temperature, such as 0.2`)
    return { temperature: number }
  }
  if (name === 'max_tokens') {
    if (number !== undefined && !Number.isSafeInteger(number))
      throw new Failure('usage', `"${value}" is no number of tokens`)
    return { maxTokens: number }
  }
  throw new Failure('usage', 'What can be set is temperature and max_tokens', {
    hint: '/set temperature 0.2, or /set max_tokens off',
  })
}

function describeParameters({ system, temperature, maxTokens }: Parameters): string {
  return [
    `system: ${system ?? 'none'}`,
    `temperature: ${temperature ?? "the service's"}`,
    `max_tokens: ${maxTokens ?? "the service's"}`,
  ].join('\n')
}
