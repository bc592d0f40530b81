/**
 * How far a request had come. `connect`: not one byte of it had left, so that it can
 * be sent again whatever its method is. `request`: it may have arrived. `body`: the service had
 * begun to answer.
 */
export type Stage = 'connect' | 'request' | 'body'

/** A request that the network or a time-out ended. It never leaves `src/client`. */
export class Interrupted extends Error {
  override name = 'Interrupted'
  readonly stage: Stage

  constructor(stage: Stage, cause: unknown) {
    super('request interrupted', { cause })
    this.stage = stage
  }
}

/** Why we gave up waiting: `ms` is the limit that ran out. */
export class Expired extends Error {
  override name = 'Expired'
  readonly ms: number

  constructor(ms: number) {
    super('time-out')
    this.ms = ms
  }
}
