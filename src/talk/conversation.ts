import type { CompletionRequest, Message } from '../contract/completion.ts'
import type { HistoryMessage, SendRequest } from '../contract/conversation.ts'
import type { TranscriptLine } from './transcript/transcript-line.ts'

/** What a session may set for the answers to come. */
export interface Parameters {
  system?: string | undefined
  temperature?: number | undefined
  maxTokens?: number | undefined
}

/** The prompt of /continue after an incomplete reply: the next reply is its rest, and may begin in mid-word. */
export const continueExactly = 'Continue exactly where your last reply stopped.'
/** The prompt of /continue after an reply that is complete as far as is known. */
export const continueFromEnd = 'Continue from the end of your last reply.'

/**
 * The conversation as it stands. In `context` mode the service keeps it and gets one message at a
 * time; what that request has no field for (docs/interface.md, "Send-message request and response") needs
 * `completions` mode, in which the conversation is kept here and sent whole.
 */
export class Conversation {
  mode: 'context' | 'completions' = 'context'
  contextId: string | undefined
  model: string | undefined
  /** The model that the last reply named. */
  replyModel: string | undefined
  parameters: Parameters = {}
  /** What was said so far, by user and assistant. */
  messages: Message[] = []
  /** Whether the service's context has all of `messages`, so that it could go on with them. */
  isOnService = true
  /** Whether `messages` lacks the beginning, which only the service has. */
  lacksBeginning = false

  sendRequest(message: string): SendRequest {
    return {
      message,
      ...(this.contextId && { context_id: this.contextId }),
      ...(this.model !== undefined && { model: this.model }),
    }
  }

  completionRequest(prompt: string): CompletionRequest {
    const { system, temperature, maxTokens } = this.parameters
    const model = this.model ?? this.replyModel
    return {
      ...(model !== undefined && { model }),
      messages: [
        ...(system === undefined ? [] : [{ role: 'system' as const, content: system }]),
        ...this.messages,
        { role: 'user', content: prompt },
      ],
      ...(temperature !== undefined && { temperature }),
      ...(maxTokens !== undefined && { max_tokens: maxTokens }),
    }
  }

  /** Takes up what was said. */
  add(prompt: string, reply: string): void {
    if (this.mode === 'completions') this.isOnService = false
    this.messages.push({ role: 'user', content: prompt })
    if (reply !== '') this.messages.push({ role: 'assistant', content: reply })
  }

  /** A better text of the last reply. */
  replaceLastReply(text: string): void {
    if (this.messages.at(-1)?.role === 'assistant') this.messages.pop()
    this.messages.push({ role: 'assistant', content: text })
  }

  get lastPrompt(): string | undefined {
    return this.messages.findLast(({ role }) => role === 'user')?.content
  }

  /** The last reply, from its beginning: /continue may have asked for it in parts. */
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

  /** Whether only completions have a field for what is set. */
  get hasParameters(): boolean {
    return Object.values(this.parameters).some((value) => value !== undefined)
  }

  /** Whether one question is all that there is. */
  get hasOnePrompt(): boolean {
    return !this.lacksBeginning && this.messages.findLastIndex(({ role }) => role === 'user') === 0
  }

  /** Takes back the last prompt and all that followed it. */
  removeLastPrompt(): void {
    const index = this.messages.findLastIndex(({ role }) => role === 'user')
    if (index >= 0) this.messages.length = index
  }

  /** As a transcript has it: what is in force from here. */
  optionsLine(at: string): TranscriptLine {
    const { system, temperature, maxTokens } = this.parameters
    return {
      type: 'options',
      at,
      mode: this.mode,
      ...(this.contextId !== undefined && { context_id: this.contextId }),
      ...(this.model !== undefined && { model: this.model }),
      ...(system !== undefined && { system }),
      ...(temperature !== undefined && { temperature }),
      ...(maxTokens !== undefined && { max_tokens: maxTokens }),
    }
  }

  /** As a transcript has it: all that was said so far. */
  conversationLine(at: string): TranscriptLine {
    return {
      type: 'conversation',
      at,
      messages: this.messages,
      ...(this.lacksBeginning && { lacks_beginning: true as const }),
    }
  }
}

/** A message of the history as one of a conversation; none where it is not one of the three roles'. */
export function toMessages({ role, content }: HistoryMessage): Message[] {
  if (typeof content !== 'string') return []
  return role === 'user' || role === 'assistant' || role === 'system' ? [{ role, content }] : []
}
