import { fork } from 'node:child_process'
import { once } from 'node:events'
import { expect } from 'chai'
import type { DataLocation } from '../../../src/service/store/open-store.ts'
import { writeUsers } from './write-users.ts'

/**
 * Has several processes, of which this is one, open a place at the same moment and write several users each.
 *
 * @returns whether each process created the data
 */
export async function writeAtOnce(place: DataLocation, processes: number, users: number): Promise<boolean[]> {
  const script = new URL('write-users.ts', import.meta.url)
  const children = Array.from({ length: processes - 1 }, (_, index) =>
    fork(script, [JSON.stringify(place), String(index), String(users)], {
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    }),
  )
  await Promise.all(children.map((child) => once(child, 'message')))
  const results = children.map(async (child) => {
    let stderr = ''
    child.stderr?.on('data', (chunk) => {
      stderr += chunk
    })
    child.send('go')
    const [[created], [code]] = await Promise.all([
      Promise.race([once(child, 'message'), once(child, 'close').then(() => ['ended early'])]),
      once(child, 'close'),
    ])
    expect(stderr).to.equal('')
    expect(code).to.equal(0)
    return created
  })
  return Promise.all([writeUsers(place, processes - 1, users), ...results])
}
