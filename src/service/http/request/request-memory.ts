import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply } from 'fastify'
import type { Caller } from '../../domain/access/caller.ts'
import { LargeWork } from '../../limits/large-work.ts'
import { MemoryBudget } from '../../limits/memory-budget.ts'
import { bodyLimit } from '../listening/connection-limits.ts'

/** Counts what requests hold against the memory budget, until their responses have left. */
export class RequestMemory {
  readonly work = new LargeWork()
  readonly #budget = new MemoryBudget()

  /** Before a body is read. One without a length may become as long as any. @throws as `hold` */
  holdBody(headers: IncomingHttpHeaders, reply: FastifyReply, caller: Caller): void {
    const { 'content-length': length, 'transfer-encoding': coding } = headers
    const bytes = coding === undefined ? Number(length ?? 0) : bodyLimit
    // A larger one is refused, and not read.
    if (bytes > 0 && bytes <= bodyLimit) this.#take(reply, caller, bytes)
  }

  /** As `Hold` does it. */
  async hold(reply: FastifyReply, caller: Caller, bytes: number): Promise<void> {
    this.#take(reply, caller, bytes)
    await this.work.turn(bytes)
  }

  #take({ raw }: FastifyReply, { userId }: Caller, bytes: number): void {
    const release = this.#budget.take(userId, bytes)
    if (raw.closed) release()
    else raw.once('close', release)
  }
}
