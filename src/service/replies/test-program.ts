import { testProgramModel } from '../../contract/model-server-address.ts'
import { type Clock, systemClock } from '../../system/clock.ts'
import { ApiError } from '../api-error.ts'
import type { CompletionResult, ModelRequest, ReplySource, TokenCounts } from './reply-source.ts'

/** 2025-01-01. Constant, because the model never changes. */
const created = 1_735_689_600

/**
 * A fixed program that replies if no model server is configured, so that everything around a model can
 * be tried. Each reply says what it is. Its tokens are words.
 * @param notice the end of each reply: how to use a real model
 */
export function createTestProgram(notice = '', clock: Clock = systemClock): ReplySource {
  return {
    listModels: async () => [{ id: testProgramModel, created, object: 'model', owned_by: 'chatctl' }],
    defaultModel: async () => testProgramModel,
    async complete(modelRequest) {
      const { pieces, reason } = replyTo(modelRequest, notice)
      const result: CompletionResult = {
        created: Math.floor(clock.now() / 1000),
        model: testProgramModel,
        usage: count(modelRequest, pieces),
        choices: [
          { index: 0, message: { role: 'assistant', content: pieces.join('') }, finish_reason: reason },
        ],
      }
      return result
    },
    async *stream(modelRequest, signal) {
      const { pieces, reason } = replyTo(modelRequest, notice)
      for (const text of pieces) {
        signal.throwIfAborted()
        yield { kind: 'delta', text, model: testProgramModel }
      }
      yield { kind: 'finish', reason, model: testProgramModel, usage: count(modelRequest, pieces) }
    },
    relay: undefined,
    reload: () => {},
    close: async () => {},
  }
}

function replyTo({ model, messages, max_tokens, default_max_tokens }: ModelRequest, notice: string) {
  if (model !== testProgramModel) {
    throw new ApiError('model_not_found', `No model ${model}; this service has only ${testProgramModel}`)
  }
  const asked = messages.findLast(({ role }) => role === 'user')?.content ?? ''
  const pieces = describe(asked, notice).split(/(?<= )/)
  const kept = pieces.slice(0, max_tokens ?? default_max_tokens)
  return { pieces: kept, reason: kept.length < pieces.length ? 'length' : 'stop' }
}

function count({ messages }: ModelRequest, pieces: readonly string[]): TokenCounts {
  const prompt = messages.reduce((sum, { content }) => sum + countWords(content), 0)
  return {
    prompt_tokens: prompt,
    completion_tokens: pieces.length,
    total_tokens: prompt + pieces.length,
  }
}

function describe(message: string, notice: string): string {
  const words = counted(countWords(message), 'word')
  const characters = counted([...message].length, 'character')
  const about = "This is chatctl's built-in test program, not an AI."
  return `${about} Your message had ${words} and ${characters}. ${notice}`.trimEnd()
}

const countWords = (text: string): number => text.match(/\S+/g)?.length ?? 0

const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`
