import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { tryProcessLock, withFileLock } from '../../src/system/files/process-lock.ts'

/**
 * `hold PATH` takes a lock and keeps it. `count PATH TIMES` adds one to the number in a file that many times.
 * `contend PATH TIMES` takes a lock that many times, without a pause between attempts, and fails if another
 * process holds it too.
 */
const [task = '', path = '', times = '0'] = process.argv.slice(2)
if (task === 'hold') {
  const release = tryProcessLock(path)
  if (!release) throw new Error('the lock is held elsewhere')
  process.stdout.write('held\n')
  // A lock whose release is unreachable may be collected as garbage.
  setTimeout(release, 600_000)
} else if (task === 'contend') {
  for (let acquired = 0; acquired < Number(times); ) {
    const release = tryProcessLock(path)
    if (!release) continue
    acquired++
    // Fails if the directory exists.
    mkdirSync(`${path}.held`)
    rmdirSync(`${path}.held`)
    release()
  }
} else {
  for (let time = 0; time < Number(times); time++)
    await withFileLock(path, () => {
      writeFileSync(path, String(Number(readFileSync(path, 'utf8')) + 1))
    })
}
