import { benchAnswerCpu } from './answer-cpu.ts'
import { measureExport } from './export-100k.ts'
import { benchFirstWord } from './first-word.ts'

/** For measurements that take a minute per round. */
const longRounds = 3

/** Measures the first word, the CPU time of a long reply, and a long history. */
export async function benchTalk(rounds: number): Promise<void> {
  await benchFirstWord(rounds)
  await benchAnswerCpu(Math.min(rounds, longRounds))
  await benchExport(Math.min(rounds, longRounds))
}

async function benchExport(rounds: number): Promise<void> {
  const { chatctl, bareUndici, ratio } = await measureExport(rounds)
  const line = (name: string, ms: number, words: string) =>
    process.stdout.write(`${name.padEnd(20)} ${ms.toFixed(0).padStart(7)} ms  ${words}\n`)
  process.stdout.write(
    `100,000 messages, median of ${rounds} rounds in turn, Node ${process.versions.node} (bound 1.15)\n`,
  )
  line('history export', chatctl, `${ratio.toFixed(2)} of bare undici`)
  line('bare undici', bareUndici, '')
}
