import { constants } from 'node:os'
import { Failure } from '../contract/failure.ts'
import { describeSystemError } from './describe-system-error.ts'
import { endingSignals } from './leave-signals-to-system.ts'

/**
 * Runs a program without a shell, with the streams and the signals of this process.
 * @param takeSignal calls `pass` when this process receives a signal, until it is undone
 * @returns its exit code, or 128 and the number of the signal that ended it
 * @throws Failure `program_not_found`, `program_not_executable`
 */
export async function runProgram(
  [program = '', ...words]: readonly string[],
  options: { env: NodeJS.ProcessEnv; cwd: string | undefined },
  takeSignal: (signal: (typeof endingSignals)[number], pass: () => void) => () => void,
): Promise<number> {
  // Without a pause before `takeSignal`, so that no signal is lost.
  const { spawn } = process.getBuiltinModule('node:child_process')
  const restore: (() => void)[] = []
  try {
    return await new Promise((resolve, reject) => {
      const child = spawn(program, words, { ...options, stdio: 'inherit' })
      restore.push(...endingSignals.map((signal) => takeSignal(signal, () => void child.kill(signal))))
      child.once('error', reject)
      child.once('exit', (code, by) => resolve(code ?? 128 + (by ? constants.signals[by] : 0)))
    })
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    const kind = code === 'ENOENT' ? 'program_not_found' : 'program_not_executable'
    throw new Failure(kind, `Cannot start "${program}": ${describeSystemError(cause)}`, { cause })
  } finally {
    for (const end of restore) end()
  }
}
