import { benchAnswerCpu } from './answer-cpu.ts'
import { measureExport } from './export-100k.ts'
import { benchFirstWord } from './first-word.ts'
import type { BoundedFigure } from './measure.ts'

/** For measurements that take a minute per round. */
const longRounds = 3

/** Measures the first word, the CPU time of a long reply, and a long history. */
export async function benchTalk(rounds: number): Promise<BoundedFigure[]> {
  return [
    await benchFirstWord(rounds),
    await benchAnswerCpu(Math.min(rounds, longRounds)),
    ...(await benchExport(Math.min(rounds, longRounds))),
  ]
}

async function benchExport(rounds: number): Promise<BoundedFigure[]> {
  const { chatctl, bareUndici, ordered, ratio, memory } = await measureExport(rounds)
  const line = (name: string, ms: number, words: string) =>
    process.stdout.write(`${name.padEnd(20)} ${ms.toFixed(0).padStart(7)} ms  ${words}\n`)
  process.stdout.write(
    `CPU time for 100,000 messages, median of ${rounds} rounds in turn, Node ${process.versions.node}\n`,
  )
  line('history export', chatctl, `${ratio.toFixed(2)} of bare undici`)
  line('bare undici', bareUndici, '')
  line('oldest first', ordered, `the same, through a file: ${(chatctl / ordered).toFixed(2)}`)
  return [
    { name: 'history export, of bare undici', value: ratio, bound: { most: 1.35 } },
    { name: 'its MB over an empty run', value: memory / 1024 / 1024, bound: { most: 60 } },
  ]
}
