import type { Model } from '../../contract/model.ts'
import { unlessAborted } from '../../system/unless-aborted.ts'
import { Refusal } from '../domain/refusal.ts'

/** How long, in ms, a list of models is good for when only its first is asked for. */
const freshFor = 10_000

/**
 * The first model of a server's list. Requests that name no model ask for it each time, so what
 * was found is remembered for some seconds, and those who ask at once share one request, which
 * goes on when one of them goes away. A failure is not remembered.
 * @throws Refusal `model_not_found` when the list is empty; whatever `list` throws; the signal's reason
 */
export function rememberFirstModel(
  list: () => Promise<Model[]>,
  now: () => number = Date.now,
): (signal: AbortSignal) => Promise<string> {
  let known: { id: string; until: number } | undefined
  let asking: Promise<string> | undefined

  async function ask(): Promise<string> {
    try {
      const [first] = await list()
      if (!first?.id) throw new Refusal('model_not_found', 'The model server lists no model; name one')
      known = { id: first.id, until: now() + freshFor }
      return first.id
    } finally {
      asking = undefined
    }
  }

  return async (signal) => {
    if (known && now() < known.until) return known.id
    asking ??= ask()
    return unlessAborted(asking, signal)
  }
}
