import type { Client } from '../client/client.ts'
import { Failure } from '../contract/failure.ts'
import { testProgramModel } from '../contract/model-server-address.ts'
import { joinQuestions } from '../contract/reply/join-questions.ts'
import type { CompletionRequest, Message, ResponseFormat, Usage } from '../contract/resources/completion.ts'
import type { HistoryMessage, SendRequest } from '../contract/resources/conversation.ts'
import type { SaidMessage, Transcript } from './transcript/transcript.ts'
import type { TranscriptLine } from './transcript/transcript-line.ts'
import type { Turn } from './transcript/turn.ts'

/** Parameters of the next replies. */
export interface Parameters {
  system?: string | undefined
  temperature?: number | undefined
  maxTokens?: number | undefined
}

/** The message of /continue after an incomplete reply. The next reply is the rest of it, and may begin in mid-word. */
export const continueExactly = 'Continue exactly where your last reply stopped.'
/** The message of /continue after a reply that has ended. */
export const continueFromEnd = 'Continue from the end of your last reply.'

/**
 * The current conversation. In `context` mode, the service stores it, and each request carries one
 * message. The send request has no field for a system message or parameters (docs/interface.md,
 * "Send-message request and response"). These need `completions` mode: this machine stores the
 * conversation, and each request carries all of it.
 */
export class Conversation {
  mode: 'context' | 'completions' = 'context'
  contextId: string | undefined
  model: string | undefined
  /** The model that the last reply named. */
  replyModel: string | undefined
  parameters: Parameters = {}
  /** Only for the embedded service. */
  responseFormat: ResponseFormat | undefined
  /** Messages of user and assistant so far, oldest first. */
  messages: SaidMessage[] = []
  /** Whether the service has all of `messages`, so that the conversation can continue there. */
  isOnService = true
  /** What the service counted for the last reply. */
  usage: Usage | undefined
  /** See `Transcript`. */
  forkedFrom: string | undefined
  /** Whether `messages` lacks the oldest messages, which only the service has. */
  lacksBeginning = false

  /** The conversation as a session left it. */
  static ofTranscript(transcript: Transcript): Conversation {
    const { mode, contextId, model, lacksBeginning, isOnService, forkedFrom } = transcript
    const { system, temperature, maxTokens, turns } = transcript
    return Object.assign(new Conversation(), {
      ...{ mode, contextId, model, lacksBeginning, isOnService, forkedFrom },
      replyModel: turns.at(-1)?.model,
      usage: turns.findLast(({ reply }) => reply !== '')?.usage,
      parameters: { system, temperature, maxTokens },
      messages: [...transcript.conversation],
    })
  }

  sendRequest(message: string): SendRequest {
    const { contextId, model, responseFormat: response_format } = this
    return { message, context_id: contextId || undefined, model, response_format }
  }

  completionRequest(prompt: string): CompletionRequest {
    const { system, temperature, maxTokens } = this.parameters
    // A model server may have replaced the test program since.
    const earlier = this.replyModel === testProgramModel ? undefined : this.replyModel
    const model = this.model ?? earlier
    return {
      model,
      messages: [
        ...(system === undefined ? [] : [{ role: 'system' as const, content: system }]),
        ...joinQuestions([...this.messages, { role: 'user', content: prompt }]),
      ],
      temperature,
      max_tokens: maxTokens,
      response_format: this.responseFormat,
    }
  }

  /** Without a reply, the question is still open. */
  add(turn: Turn): void {
    const { user, reply, usage } = turn
    this.usage = usage
    if (this.mode === 'completions') this.isOnService = false
    this.messages.push({ role: 'user', content: user, turn })
    if (reply !== '') this.messages.push({ role: 'assistant', content: reply, turn })
  }

  replaceLastReply(text: string): void {
    this.usage = undefined
    if (this.messages.at(-1)?.role === 'assistant') this.messages.pop()
    this.messages.push({ role: 'assistant', content: text })
  }

  get lastPrompt(): string | undefined {
    return this.messages.findLast(({ role }) => role === 'user')?.content
  }

  /** The whole last reply. /continue may have fetched it in parts. */
  get lastReply(): string | undefined {
    let index = this.messages.findLastIndex(({ role }) => role === 'assistant')
    let reply = this.messages[index]?.content
    for (; reply !== undefined; index -= 2) {
      const [earlier, asked] = [this.messages[index - 2], this.messages[index - 1]]
      if (asked?.role !== 'user' || earlier?.role !== 'assistant') break
      if (asked.content === continueExactly) reply = earlier.content + reply
      else if (asked.content === continueFromEnd) reply = `${earlier.content.trimEnd()}\n\n${reply}`
      else break
    }
    return reply
  }

  /** Whether a parameter is set. Only completions accept parameters. */
  get hasParameters(): boolean {
    return Object.values(this.parameters).some((value) => value !== undefined)
  }

  /** Whether the conversation has exactly one message of the user. */
  get hasOnePrompt(): boolean {
    return !this.lacksBeginning && this.messages.findLastIndex(({ role }) => role === 'user') === 0
  }

  /** Removes the last prompt and everything after it. */
  removeLastPrompt(): void {
    const index = this.messages.findLastIndex(({ role }) => role === 'user')
    if (index >= 0) this.messages.length = index
  }

  /** The transcript line that records the options in force from here on. */
  optionsLine(at: string): TranscriptLine {
    const { system, temperature, maxTokens } = this.parameters
    return {
      type: 'options',
      at,
      mode: this.mode,
      context_id: this.contextId,
      model: this.model,
      system,
      temperature,
      max_tokens: maxTokens,
    }
  }

  /** The transcript line that records all messages so far. */
  conversationLine(at: string): TranscriptLine {
    const messages = this.messages.map(({ role, content }) => ({ role, content }))
    const turns = this.messages.map(({ turn }) => turn?.number ?? null)
    return { type: 'conversation', at, messages, turns, lacks_beginning: this.lacksBeginning || undefined }
  }
}

/** A history message as a message of a conversation. Empty for an unknown role, or a content that is no text. */
export function toMessages({ role, content, id }: HistoryMessage): RemoteMessage[] {
  if (typeof content !== 'string' || content.trim() === '') return []
  return role === 'user' || role === 'assistant' || role === 'system' ? [{ role, content, id }] : []
}

/** A message as the service has it. */
export interface RemoteMessage extends Message {
  id?: HistoryMessage['id']
}

/**
 * Fetches all messages of a conversation on the service, oldest first.
 * @throws Failure of the service; the reason of the signal
 */
export async function fetchMessages(
  client: Client,
  contextId: string,
  signal: AbortSignal,
): Promise<RemoteMessage[]> {
  const found: HistoryMessage[] = []
  for await (const { messages } of client.history.pages({ context_id: contextId }, { signal })) {
    found.unshift(...messages)
  }
  const isStopped = (reply?: HistoryMessage) => reply?.['incomplete'] === true && !reply.content?.trim()
  return found.filter((_, index) => !isStopped(found[index + 1])).flatMap(toMessages)
}

export function noMessages(contextId: string): Failure {
  return new Failure('not_found', `No messages of conversation "${contextId}" in the service's history`, {
    hint: 'List the sessions on this machine with: chatctl chat sessions',
  })
}
