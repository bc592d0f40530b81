import { parentPort, workerData } from 'node:worker_threads'
import { SecondFactorCipher } from '../../../src/service/oauth/second-factor-cipher.ts'

const { directories, count, waiting } = workerData

/** Returns once all threads have called it. */
function meet(round: number): void {
  Atomics.add(waiting, round, 1)
  while (Atomics.load(waiting, round) < count);
}

parentPort?.postMessage(
  directories.map((directory: string, round: number) => {
    const cipher = new SecondFactorCipher(directory)
    meet(round)
    return cipher.encrypt('JBSWY3DPEHPK3PXP', 'usr_a')
  }),
)
