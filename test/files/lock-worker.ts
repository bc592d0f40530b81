import { readFileSync, writeFileSync } from 'node:fs'
import { tryProcessLock, withFileLock } from '../../src/system/process-lock.ts'

/** `hold PATH` takes a lock and keeps it. `count PATH TIMES` adds one to the number in a file that many times. */
const [task = '', path = '', times = '0'] = process.argv.slice(2)
if (task === 'hold') {
  const release = tryProcessLock(path)
  if (!release) throw new Error('the lock is held elsewhere')
  process.stdout.write('held\n')
  // A lock whose release is unreachable may be collected as garbage.
  setTimeout(release, 600_000)
} else {
  for (let time = 0; time < Number(times); time++) {
    await withFileLock(path, () => {
      const number = Number(readFileSync(path, 'utf8'))
      writeFileSync(path, String(number + 1))
    })
  }
}
