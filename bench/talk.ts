import { benchAnswerCpu } from './answer-cpu.ts'
import { benchFirstWord } from './first-word.ts'

/** Rounds of what takes a minute each. */
const longRounds = 3

/** The figures of talking: the first word, the CPU of a long answer, and a long history. */
export async function benchTalk(rounds: number): Promise<void> {
  await benchFirstWord(rounds)
  await benchAnswerCpu(Math.min(rounds, longRounds))
}
