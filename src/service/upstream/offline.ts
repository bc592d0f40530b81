import { Refusal } from '../domain/refusal.ts'
import type { CompletionResult, Order, Upstream, Usage } from './upstream.ts'

const offlineModel = 'offline'

/** 2025-01-01, the same at every call: the model never changes. */
const created = 1_735_689_600

/**
 * A fixed program that answers when no model server is configured, so that everything around a
 * model can be tried. It says what it is in every answer. Its tokens are words.
 */
export function createOffline(): Upstream {
  return {
    listModels: async () => [{ id: offlineModel, created, object: 'model', owned_by: 'chatctl' }],
    defaultModel: async () => offlineModel,
    async complete(order) {
      const { pieces, reason } = answer(order)
      const result: CompletionResult = {
        created: Math.floor(Date.now() / 1000),
        model: offlineModel,
        usage: count(order, pieces),
        choices: [
          { index: 0, message: { role: 'assistant', content: pieces.join('') }, finish_reason: reason },
        ],
      }
      return result
    },
    async *stream(order, signal) {
      const { pieces, reason } = answer(order)
      for (const text of pieces) {
        signal.throwIfAborted()
        yield { kind: 'delta', text, model: offlineModel }
      }
      yield { kind: 'finish', reason, model: offlineModel, usage: count(order, pieces) }
    },
    close: async () => {},
  }
}

function answer({ model, messages, max_tokens: most = Number.POSITIVE_INFINITY }: Order) {
  if (model !== offlineModel) {
    throw new Refusal('model_not_found', `There is no model ${model}; this service has only ${offlineModel}`)
  }
  const asked = messages.findLast(({ role }) => role === 'user')?.content ?? ''
  const pieces = describe(asked).split(/(?<= )/)
  const cut = pieces.slice(0, most)
  return { pieces: cut, reason: cut.length < pieces.length ? 'length' : 'stop' }
}

function count({ messages }: Order, pieces: readonly string[]): Usage {
  const prompt = messages.reduce((sum, { content }) => sum + wordsOf(content).length, 0)
  return {
    prompt_tokens: prompt,
    completion_tokens: pieces.length,
    total_tokens: prompt + pieces.length,
  }
}

function describe(message: string): string {
  const words = counted(wordsOf(message).length, 'word')
  const characters = counted([...message].length, 'character')
  return (
    "This is chatctl's built-in offline model: a fixed program, not an AI. " +
    `Your message had ${words} and ${characters}. ` +
    'To get real answers, start the service with a model server: chatctl service run --upstream ollama'
  )
}

const wordsOf = (text: string) => text.split(/\s+/u).filter((word) => word !== '')
const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`
