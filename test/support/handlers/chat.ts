import type { CompletionRequest } from '../../../src/contract/resources/completion.ts'
import type { HistoryMessage, SendRequest } from '../../../src/contract/resources/conversation.ts'
import {
  type Behavior,
  failing,
  type Handler,
  json,
  pathnameOf,
  type RecordedRequest,
} from '../scripted-server.ts'
import { type ReplyNames, type ReplyScript, ScriptedReply } from './scripted-reply.ts'

/** Stores conversations, and sends scripted replies: `You said: …` to a message without a script. */
export class ChatHandler implements Handler {
  /** The messages sent to a conversation so far. */
  readonly sends: SendRequest[] = []
  /** The completions requested so far. */
  readonly completions: CompletionRequest[] = []
  /** Streams a completion if the request accepts events, as the embedded service does. */
  streamsCompletions = false
  readonly #models: readonly string[]
  readonly #answers: (ScriptedReply | Behavior)[] = []
  readonly #messages: (HistoryMessage & { contextId: string })[] = []
  readonly #counts = new Map<string, number>()
  #clock = 0

  constructor(models = ['model-a', 'model-b']) {
    this.#models = models
  }

  /** Scripts the reply to the next message or completion. Replies scripted earlier come first. */
  answerNext(script: ReplyScript | string): ScriptedReply {
    const answer = new ScriptedReply(typeof script === 'string' ? { text: script } : script)
    this.#answers.push(answer)
    return answer
  }

  /** Scripts another behavior for the next message or completion, such as `limited()`. */
  failNext(behavior: Behavior): void {
    this.#answers.push(behavior)
  }

  /** The messages of a conversation, or of all contexts, oldest first. */
  history(contextId?: string): HistoryMessage[] {
    return this.#messages
      .filter((message) => contextId === undefined || message.contextId === contextId)
      .map(({ contextId: _, ...message }) => message)
  }

  /** IDs of the conversations, oldest first. */
  get contexts(): string[] {
    return [...new Set(this.#messages.map(({ contextId }) => contextId))]
  }

  /** Removes the last messages of a conversation. */
  forget(contextId: string, count: number): void {
    for (let left = count; left > 0; left--) {
      const index = this.#messages.findLastIndex((message) => message.contextId === contextId)
      if (index >= 0) this.#messages.splice(index, 1)
    }
  }

  choose(request: RecordedRequest): Behavior {
    switch (`${request.method} ${pathnameOf(request.path)}`) {
      case 'POST /api/chat/send':
        return this.#send(appended(this.sends, request))
      case 'POST /v1/chat/completions':
        return this.#complete(appended(this.completions, request), request.headers.accept)
      case 'GET /api/chat/history':
        return this.#list(new URL(request.path, 'http://service').searchParams)
      case 'GET /v1/chat/models':
        return json(200, {
          data: this.#models.map((id) => ({ id, created: 0, object: 'model', owned_by: 'test' })),
        })
      default:
        return failing(404, 'not_found', 'There is no such endpoint')
    }
  }

  /** Adds to a conversation, as another client would. */
  say(contextId: string, role: string, content: string, id = this.#name('msg')): void {
    // No two messages have the same time, so that the times give the order.
    this.#clock = Math.max(Date.now(), this.#clock + 1)
    const created_at = new Date(this.#clock).toISOString()
    this.#messages.push({ id, role, content, created_at, contextId })
  }

  #send(sent: SendRequest): Behavior {
    const answer = this.#next(sent.message ?? '')
    if (typeof answer === 'function') return answer
    const contextId = sent.context_id ?? this.#name('ctx')
    const names: ReplyNames = { id: this.#name('msg'), contextId, model: sent.model ?? this.#models[0] ?? '' }
    return async (_, response, incoming) => {
      answer.begin()
      this.say(contextId, 'user', sent.message ?? '')
      const { ending = 'done', finishLater } = answer.script
      const keep = (text: string) => this.say(contextId, 'assistant', text, names.id)
      // The history contains the whole reply after the interruption.
      if (finishLater !== undefined) keep(finishLater)
      const stayed = sent.stream
        ? await answer.stream(response, incoming, names)
        : await answer.send(response, incoming, this.#sendBody(answer, names))
      if (stayed && ending === 'done' && finishLater === undefined) keep(answer.text)
    }
  }

  #sendBody(answer: ScriptedReply, { id, contextId }: ReplyNames): unknown {
    return { id, response: answer.text, context_id: contextId, created_at: new Date().toISOString() }
  }

  #complete(asked: CompletionRequest, accept = ''): Behavior {
    const answer = this.#next(asked.messages?.at(-1)?.content ?? '')
    if (typeof answer === 'function') return answer
    const { usage } = answer.script
    const reasoning = answer.script.reasoning?.join('')
    const message = { role: 'assistant', content: answer.text, ...(reasoning && { reasoning }) }
    const id = this.#name('cmpl')
    const model = asked.model ?? this.#models[0] ?? ''
    const body = {
      id,
      object: 'chat.completion',
      created: 0,
      model,
      ...(usage && { usage }),
      choices: [{ index: 0, message, finish_reason: 'stop' }],
    }
    const streams = this.streamsCompletions && accept.includes('text/event-stream')
    return async (_, response, incoming) => {
      answer.begin()
      if (streams) await answer.stream(response, incoming, { id, model })
      else await answer.send(response, incoming, body)
    }
  }

  #next(message: string): ScriptedReply | Behavior {
    return this.#answers.shift() ?? new ScriptedReply({ text: `You said: ${message}` })
  }

  /** Oldest first within a page, the newest page first. `before` is the ID of a message. */
  #list(query: URLSearchParams): Behavior {
    const contextId = query.get('context_id')
    const all = this.#messages.filter((message) => contextId === null || message.contextId === contextId)
    if (contextId !== null && all.length === 0) {
      return failing(404, 'context_not_found', 'There is no such conversation')
    }
    const before = query.get('before')
    const end = before === null ? all.length : all.findIndex(({ id }) => id === before)
    const start = Math.max(0, end - Number(query.get('limit') ?? 20))
    const messages = all
      .slice(start, end)
      .map(({ contextId: context_id, ...message }) => ({ ...message, context_id }))
    return json(200, { messages, has_more: start > 0 })
  }

  #name(kind: string): string {
    const count = (this.#counts.get(kind) ?? 0) + 1
    this.#counts.set(kind, count)
    return `${kind}_${count}`
  }
}

function appended<T>(list: T[], { body }: RecordedRequest): T {
  const sent: T = JSON.parse(body)
  list.push(sent)
  return sent
}
