import { resolveAlias } from '../../config/model-aliases.ts'
import { Failure } from '../../contract/failure.ts'
import { nearest } from '../../contract/nearest-word.ts'
import type { Session } from '../session.ts'

/**
 * Takes another model for the next replies. With `--force` after its ID, also one that the service does not list.
 *
 * @throws Failure `usage` for such a model without `--force`
 */
export async function chooseModel(session: Session, argument: string): Promise<void> {
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
  const meant = findMeant(id, names)
  const suggestion =
    meant.length === 0 ? 'List the models with /model' : `Did you mean ${meant.join(' or ')}?`
  return new Failure('usage', `The service does not list the model "${id}"`, {
    hint: `${suggestion}${meant.length === 0 ? '. ' : ' '}To use it anyway, type: /model ${id} --force`,
  })
}

/** The names that contain the text, or else the most similar one. */
function findMeant(id: string, names: readonly string[]): readonly string[] {
  const text = id.toLowerCase()
  const containing = names.filter((name) => name.toLowerCase().includes(text)).slice(0, 3)
  const similar = containing.length === 0 ? nearest(id, names) : undefined
  return similar === undefined ? containing : [similar]
}

/** Lists the models of the service, and marks the current one. */
export async function listModels(session: Session): Promise<void> {
  const { model, replyModel } = session.conversation
  await session.stoppable(async (signal) => {
    const models = await session.models.fetch(session.client, signal)
    const inUse = model ?? replyModel ?? session.models.standard
    session.status.clear()
    const lines = models.map((id) => (id === inUse ? `* ${id}  current` : `  ${id}`))
    session.output.show(lines.length === 0 ? 'The service lists no models.' : lines.join('\n'))
  })
}
