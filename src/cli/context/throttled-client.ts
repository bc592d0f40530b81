import type { Client } from '../../client/client.ts'
import type { ClientEvent } from '../../client/deliver.ts'
import type { estimateDuration, Throttle } from '../../users/send/throttle.ts'
import { BulkProgress } from '../output/progress.ts'
import type { Context } from './context.ts'

/** Of the bulk layer, which the command has loaded. */
export interface SendingModules {
  Throttle: typeof Throttle
  estimateDuration: typeof estimateDuration
}

/** A client for many requests, which share a throttle and a progress line. */
export interface ThrottledClient {
  throttle: Throttle
  progress: BulkProgress
  /** @throws Failure `unauthorized` without a credential */
  connect(): Promise<Client>
}

/** @param total number of users; undefined if it is not known */
export function throttledClient(
  context: Context,
  { Throttle, estimateDuration }: SendingModules,
  total: number | undefined,
): ThrottledClient {
  const progress = new BulkProgress(context.output, {
    noun: 'user',
    total,
    estimate: (requests, perSecond) => estimateDuration({ requests, perSecond, quota: throttle.known }),
  })
  const throttle: Throttle = new Throttle({
    clock: context.host.clock,
    maxWait: context.options.max_wait.value,
    signal: context.signal,
    onPause: (pause) => progress.pause(pause),
    onResume: () => progress.go(),
  })
  const observe = (event: ClientEvent): void => {
    throttle.observe(event)
    context.transport.observe?.(event)
  }
  return { throttle, progress, connect: () => context.connect({ maxWait: 0, observe }) }
}
