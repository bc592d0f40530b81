import type { HistoryMessage } from '../contract/conversation.ts'
import { parseJson } from '../contract/exact-json.ts'
import { timeOf } from '../contract/history-order.ts'
import type { Spill, SpilledPage } from './spill.ts'

/**
 * The pages of a whole walk, the oldest first. Where the newest part came to the end without
 * meeting an earlier one, the history is another one now, and that part is all of it.
 */
export function pagesInOrder({ pages, parts }: Spill): SpilledPage[] {
  let first = parts.length - 1
  while (first > 0 && parts[first]?.ending !== 'ended') first -= 1
  const byPart = Map.groupBy(pages, (page) => page.part)
  const inOrder: SpilledPage[] = []
  for (let part = first; part < parts.length; part++) inOrder.push(...(byPart.get(part) ?? []).toReversed())
  return inOrder.filter((page) => page.messages > 0)
}

/**
 * The lines of a page and how many they are, without those of before `since` (ms): an earlier run
 * may have looked further back, for `7d` was another day then.
 */
export function linesOf(
  spill: Spill,
  page: SpilledPage,
  since: number | undefined,
): { lines: Buffer; messages: number } {
  const bytes = spill.read(page)
  if (since === undefined || page.oldest === undefined || page.oldest >= since)
    return { lines: bytes, messages: page.messages }
  const lines = bytes.toString('utf8').split('\n').slice(0, -1)
  const kept = lines.filter((line) => !(timeOf(parseJson(line) as HistoryMessage) < since))
  return { lines: Buffer.from(kept.map((line) => `${line}\n`).join('')), messages: kept.length }
}
