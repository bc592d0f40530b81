import { readFileSync } from 'node:fs'
import { PassThrough } from 'node:stream'
import { checkInput } from '../../../../src/users/input/check-input.ts'
import { openInput } from '../../../../src/users/input/input.ts'
import { UniqueValues } from '../../../../src/users/input/unique-values.ts'

/** Process that checks the file named by its argument and reports its peak memory. */

const input = await openInput(process.argv[2] ?? '', {
  signal: new AbortController().signal,
  stdin: new PassThrough(),
  untilEnded: () => () => {},
  resolvePath: String,
})
const { rows } = await checkInput(input, 'users', () => {}, new UniqueValues())
input.close()
const peak = Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) * 1024
process.stdout.write(JSON.stringify({ rows, peak }))
