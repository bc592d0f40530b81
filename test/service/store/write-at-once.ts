import { fork } from 'node:child_process'
import { once } from 'node:events'
import { expect } from 'chai'
import type { DataLocation } from '../../../src/service/store/open-store.ts'

/**
 * Has several processes open a place at the same moment and write several users each.
 *
 * @returns whether each process created the data
 */
export async function writeAtOnce(place: DataLocation, processes: number, users: number): Promise<boolean[]> {
  const script = new URL('write-users.ts', import.meta.url)
  const children = Array.from({ length: processes }, (_, index) =>
    fork(script, [JSON.stringify(place), String(index), String(users)], {
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    }),
  )
  await Promise.all(children.map((child) => once(child, 'message')))
  return Promise.all(
    children.map(async (child) => {
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
    }),
  )
}
