import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Usage } from '../../../src/contract/resources/completion.ts'

/** A reply, and how the server sends it. */
export interface ReplyScript {
  /** The text in the pieces that are sent. A bare string is one piece. */
  text: string | readonly string[]
  /** Sent before the text, in the same way. Not in the history. */
  reasoning?: readonly string[]
  /** Milliseconds before each piece except the first. */
  pause?: number
  /** Each piece waits for `release()`. */
  held?: boolean
  /** How a stream ends: with its end marker, without it, with a reset, or never. */
  ending?: 'done' | 'unmarked' | 'reset' | 'stalled'
  /** The whole reply in the history, although the stream was interrupted. */
  finishLater?: string
  usage?: Usage
  /** `stop` by default. */
  finishReason?: string
  shape?: StreamShape
}

/** The stream formats. The interface does not specify one. */
export type StreamShape = 'events' | 'openai' | 'ndjson' | 'text'

/** The fields of every frame of a reply. */
export interface ReplyNames {
  id: string
  /** Undefined for a completion. */
  contextId?: string
  model: string
}

const types: Record<StreamShape, string> = {
  events: 'text/event-stream',
  openai: 'text/event-stream',
  ndjson: 'application/x-ndjson',
  text: 'text/plain; charset=utf-8',
}

/** A reply that a test controls and observes. */
export class ScriptedReply {
  readonly script: ReplyScript
  /** Resolves when the request arrives. */
  readonly begun: Promise<void>
  /** Resolves when the client closes the connection before the end of the reply. */
  readonly abandoned: Promise<void>
  begin: () => void = () => {}
  #abandon: () => void = () => {}
  #allowed = 0
  #wake: () => void = () => {}

  constructor(script: ReplyScript) {
    this.script = script
    this.begun = new Promise((resolve) => {
      this.begin = resolve
    })
    this.abandoned = new Promise((resolve) => {
      this.#abandon = resolve
    })
  }

  get pieces(): readonly string[] {
    return typeof this.script.text === 'string' ? [this.script.text] : this.script.text
  }

  get text(): string {
    return this.pieces.join('')
  }

  /** Sends the next pieces of a held reply. Without a number, sends the remaining pieces and the end. */
  release(count = Number.POSITIVE_INFINITY): void {
    this.#allowed += count
    this.#wake()
  }

  /** Sends the reply and ends as scripted. Returns whether the client stayed to the end. */
  async stream(response: ServerResponse, incoming: IncomingMessage, names: ReplyNames): Promise<boolean> {
    const { pause = 0, ending = 'done', shape = 'events' } = this.script
    this.#watch(response)
    response.writeHead(200, { 'content-type': types[shape] })
    response.flushHeaders()
    for (const piece of this.script.reasoning ?? []) {
      await this.#turn(response)
      if (response.destroyed) return false
      response.write(writeReasoning(piece, names))
    }
    for (const [index, piece] of this.pieces.entries()) {
      if (index > 0) await sleep(pause)
      await this.#turn(response)
      if (response.destroyed) return false
      response.write(writePiece(piece, shape, names))
    }
    // The end of a held reply is released like a piece.
    await this.#turn(response)
    if (response.destroyed) return false
    if (ending === 'done') response.end(this.#writeEnd(shape, names))
    else if (ending === 'unmarked') response.end()
    else if (ending === 'reset') {
      await sleep(20)
      incoming.socket.resetAndDestroy()
    }
    return true
  }

  /** Sends the reply as one body, for the endpoint that does not stream. */
  async send(response: ServerResponse, incoming: IncomingMessage, body: unknown): Promise<boolean> {
    const { ending = 'done' } = this.script
    this.#watch(response)
    await this.#turn(response)
    if (response.destroyed || ending === 'stalled') return false
    if (ending === 'reset') incoming.socket.resetAndDestroy()
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    return ending !== 'reset'
  }

  #watch(response: ServerResponse): void {
    response.once('close', () => {
      if (!response.writableEnded) this.#abandon()
      this.#wake()
    })
  }

  async #turn(response: ServerResponse): Promise<void> {
    if (!this.script.held) return
    while (this.#allowed < 1 && !response.destroyed) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    this.#allowed -= 1
  }

  #writeEnd(shape: StreamShape, { id, contextId, model }: ReplyNames): string {
    const { usage, finishReason: finish_reason = 'stop' } = this.script
    const about = { id, context_id: contextId, model, ...(usage && { usage }) }
    switch (shape) {
      case 'events':
        return event({ ...about, response: this.text, finish_reason }, 'done')
      case 'openai':
        return `${event({ ...about, choices: [{ index: 0, delta: {}, finish_reason }] })}data: [DONE]\n\n`
      case 'ndjson':
        return `${JSON.stringify({ ...about, done: true })}\n`
      case 'text':
        return ''
    }
  }
}

function writePiece(text: string, shape: StreamShape, { id, contextId, model }: ReplyNames): string {
  const about = { id, context_id: contextId, model }
  switch (shape) {
    case 'events':
      return event({ ...about, delta: text }, 'delta')
    case 'openai':
      return event({ ...about, choices: [{ index: 0, delta: { content: text }, finish_reason: null }] })
    case 'ndjson':
      return `${JSON.stringify({ ...about, delta: text, done: false })}\n`
    case 'text':
      return text
  }
}

function writeReasoning(text: string, { id, contextId, model }: ReplyNames): string {
  return event({ id, context_id: contextId, model, reasoning: text }, 'reasoning')
}

function event(data: unknown, name?: string): string {
  return `${name ? `event: ${name}\n` : ''}data: ${JSON.stringify(data)}\n\n`
}
