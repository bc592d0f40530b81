import { resolveAlias } from '../../config/model-aliases.ts'
import { Failure } from '../../contract/failure.ts'
import { nearest } from '../../contract/nearest-word.ts'
import type { Parameters } from '../conversation.ts'
import { switchToCompletions, switchToContext } from '../reply/conversation-mode.ts'
import type { Session, SlashCommand } from '../session.ts'

/** Commands that set the model and the parameters of the next replies. */
export const parameterCommands: readonly SlashCommand[] = [
  {
    name: 'model',
    argument: '[ID [--force]]',
    summary: 'Choose the model, or list the models',
    candidates: async ({ models, client, options }) => [
      ...Object.keys(options.aliases),
      ...(await models.recall(client, options.run.signal)),
    ],
    run: (session, id) => (id === '' ? listModels(session) : chooseModel(session, id)),
  },
  {
    name: 'system',
    argument: '[TEXT|off]',
    summary: 'Show, set, or unset the system message',
    run: (session, text) => {
      if (text === '')
        return session.output.show(session.conversation.parameters.system ?? 'No system message is set.')
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
  await switchToCompletions(session, 'the service accepts this parameter only with the full conversation')
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

/**
 * Takes another model for the next replies. With `--force` after its ID, also one that the service does not list.
 * @throws Failure `usage` for such a model without `--force`
 */
async function chooseModel(session: Session, argument: string): Promise<void> {
  const force = /\s--force$/.test(argument)
  const typed = force ? argument.slice(0, -'--force'.length).trimEnd() : argument
  const id = resolveAlias(typed, session.options.aliases)
  if (!force && !(await isListed(session, id))) return
  session.conversation.model = id
  session.recorder.options(session.conversation)
  session.output.note(`Using model ${id} from now on`)
}

/** False if Ctrl-C stops the request. A list that cannot be fetched, or is empty, refuses nothing. */
async function isListed(session: Session, id: string): Promise<boolean> {
  let isKnown = false
  await session.stoppable(async (signal) => {
    try {
      const models = await session.models.fetch(session.client, signal)
      if (models.length > 0 && !models.includes(id))
        throw unlisted(id, [...Object.keys(session.options.aliases), ...models])
    } catch (error) {
      if (signal.aborted || !(error instanceof Failure) || error.kind === 'usage') throw error
      session.output.note(`The list of models cannot be fetched, so ${id} was not checked`)
    }
    isKnown = true
  })
  return isKnown
}

/** @param names of the models and aliases */
function unlisted(id: string, names: readonly string[]): Failure {
  const meant = names.find((name) => name.toLowerCase().includes(id.toLowerCase())) ?? nearest(id, names)
  const suggestion = meant === undefined ? 'List the models with /model.' : `Did you mean ${meant}?`
  return new Failure('usage', `The service does not list the model "${id}"`, {
    hint: `${suggestion} To use it anyway, type: /model ${id} --force`,
  })
}

/** Lists the models of the service, and marks the current one. */
async function listModels(session: Session): Promise<void> {
  const { model, replyModel } = session.conversation
  await session.stoppable(async (signal) => {
    const models = await session.models.fetch(session.client, signal)
    const inUse = model ?? replyModel ?? session.models.standard
    session.status.clear()
    const lines = models.map((id) => (id === inUse ? `* ${id}  current` : `  ${id}`))
    session.output.show(lines.length === 0 ? 'The service lists no models.' : lines.join('\n'))
  })
}
