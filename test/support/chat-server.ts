import type { CompletionRequest } from '../../src/contract/resources/completion.ts'
import type { HistoryMessage, SendRequest } from '../../src/contract/resources/conversation.ts'
import {
  type Behavior,
  type FaultServer,
  failing,
  json,
  type RecordedRequest,
  startFaultServer,
} from './fault-server.ts'
import { type ReplyNames, type ReplyScript, ScriptedReply } from './scripted-reply.ts'

/**
 * A chat service on loopback with scripted replies. It replies `You said: …` to a message without a
 * script. It stores its conversations, like the real service.
 */
export class ChatServer {
  readonly #server: FaultServer
  readonly #state: State

  private constructor(server: FaultServer, state: State) {
    this.#server = server
    this.#state = state
  }

  static async start(models = ['model-a', 'model-b']): Promise<ChatServer> {
    const state = new State(models)
    const server = await startFaultServer({ choose: (request) => state.choose(request) })
    return new ChatServer(server, state)
  }

  get url(): string {
    return this.#server.url
  }

  /** Streams a completion if the request accepts events, as the embedded service does. */
  streamCompletions(): void {
    this.#state.streamsCompletions = true
  }

  /** All requests so far, oldest first. */
  get requests(): readonly RecordedRequest[] {
    return this.#server.requests
  }

  /** The messages sent to a conversation so far. */
  get sends(): SendRequest[] {
    return this.#bodies('/api/chat/send')
  }

  /** The completions requested so far. */
  get completions(): CompletionRequest[] {
    return this.#bodies('/v1/chat/completions')
  }

  /** How often the history was requested. */
  get historyRequests(): number {
    return this.requests.filter(({ path }) => pathOf(path) === '/api/chat/history').length
  }

  /** Scripts the reply to the next message or completion. Replies scripted earlier come first. */
  answerNext(script: ReplyScript | string): ScriptedReply {
    const answer = new ScriptedReply(typeof script === 'string' ? { text: script } : script)
    this.#state.answers.push(answer)
    return answer
  }

  /** Scripts a behavior of fault-server.ts for the next message or completion, such as `limited()`. */
  failNext(behavior: Behavior): void {
    this.#state.answers.push(behavior)
  }

  /** Scripts a behavior for the next request for the history. */
  failHistory(behavior: Behavior): void {
    this.#state.historyBehaviors.push(behavior)
  }

  /** The messages of a conversation, or of all contexts, oldest first. */
  history(contextId?: string): HistoryMessage[] {
    return this.#state.messages
      .filter((message) => contextId === undefined || message.contextId === contextId)
      .map(({ contextId: _, ...message }) => message)
  }

  /** IDs of the conversations, oldest first. */
  get contexts(): string[] {
    return [...new Set(this.#state.messages.map(({ contextId }) => contextId))]
  }

  /** Adds to a conversation, as another client would. */
  say(contextId: string, role: 'user' | 'assistant', content: string): void {
    this.#state.store(contextId, role, content)
  }

  /** Removes the last messages of a conversation. */
  forget(contextId: string, count: number): void {
    const { messages } = this.#state
    for (let left = count; left > 0; left--) {
      const index = messages.findLastIndex((message) => message.contextId === contextId)
      if (index >= 0) messages.splice(index, 1)
    }
  }

  close(): Promise<void> {
    return this.#server.close()
  }

  #bodies<T>(path: string): T[] {
    return this.requests
      .filter((request) => pathOf(request.path) === path)
      .map(({ body }) => JSON.parse(body))
  }
}

class State {
  readonly models: readonly string[]
  readonly answers: (ScriptedReply | Behavior)[] = []
  readonly historyBehaviors: Behavior[] = []
  readonly messages: (HistoryMessage & { contextId: string })[] = []
  streamsCompletions = false
  readonly #counts = new Map<string, number>()
  #clock = 0

  constructor(models: readonly string[]) {
    this.models = models
  }

  choose(request: RecordedRequest): Behavior {
    switch (`${request.method} ${pathOf(request.path)}`) {
      case 'POST /api/chat/send':
        return this.#send(JSON.parse(request.body))
      case 'POST /v1/chat/completions':
        return this.#complete(JSON.parse(request.body), request.headers.accept)
      case 'GET /api/chat/history':
        return (
          this.historyBehaviors.shift() ?? this.#list(new URL(request.path, 'http://service').searchParams)
        )
      case 'GET /v1/chat/models':
        return json(200, {
          data: this.models.map((id) => ({ id, created: 0, object: 'model', owned_by: 'test' })),
        })
      default:
        return failing(404, 'not_found', 'There is no such endpoint')
    }
  }

  store(contextId: string, role: string, content: string, id = this.#name('msg')): void {
    // No two messages have the same time, so that the times give the order.
    this.#clock = Math.max(Date.now(), this.#clock + 1)
    const created_at = new Date(this.#clock).toISOString()
    this.messages.push({ id, role, content, created_at, contextId })
  }

  #send(sent: SendRequest): Behavior {
    const answer = this.#next(sent.message ?? '')
    if (typeof answer === 'function') return answer
    const contextId = sent.context_id ?? this.#name('ctx')
    const names: ReplyNames = {
      id: this.#name('msg'),
      contextId,
      model: sent.model ?? this.models[0] ?? '',
    }
    return async (_, response, incoming) => {
      answer.begin()
      this.store(contextId, 'user', sent.message ?? '')
      const { ending = 'done', finishLater } = answer.script
      const keep = (text: string) => this.store(contextId, 'assistant', text, names.id)
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
    const model = asked.model ?? this.models[0] ?? ''
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
    return this.answers.shift() ?? new ScriptedReply({ text: `You said: ${message}` })
  }

  /** Oldest first within a page, the newest page first. `before` is the ID of a message. */
  #list(query: URLSearchParams): Behavior {
    const contextId = query.get('context_id')
    const all = this.messages.filter((message) => contextId === null || message.contextId === contextId)
    if (contextId !== null && all.length === 0) {
      return failing(404, 'context_not_found', 'There is no such conversation')
    }
    const before = query.get('before')
    const end = before === null ? all.length : all.findIndex(({ id }) => id === before)
    const start = Math.max(0, end - Number(query.get('limit') ?? 20))
    const messages = all.slice(start, end).map(({ contextId: context_id, ...message }) => ({
      ...message,
      context_id,
    }))
    return json(200, { messages, has_more: start > 0 })
  }

  #name(kind: string): string {
    const count = (this.#counts.get(kind) ?? 0) + 1
    this.#counts.set(kind, count)
    return `${kind}_${count}`
  }
}

function pathOf(path: string): string {
  return path.split('?')[0] ?? ''
}
