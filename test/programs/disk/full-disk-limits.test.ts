import { join } from 'node:path'
import { expect } from 'chai'
import { caller } from '../../service/temporary-service.ts'
import { perSuite } from '../../support/lifetime.ts'
import { makeKey, runService, type ServiceProcess } from '../../support/run-service.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { fillDisk, mountSmallDisk } from './small-disk.ts'

/** Needs root to mount a disk. */
describe('a service whose request counters are on a full disk', () => {
  const sandbox = perSuite(createSandbox)
  let disk: ReturnType<typeof mountSmallDisk>
  let service: ServiceProcess | undefined
  before(() => {
    disk = mountSmallDisk(sandbox, '8m')
  })
  after(async () => {
    await service?.stop()
    disk.unmount()
  })

  it('still answers reads, and enforces the rate limit', async () => {
    const where = ['--data', join(disk.path, 'data')]
    const key = await makeKey(sandbox, [...where, '--tier', 'enterprise', '--limit', '1000'])
    service = await runService(sandbox, where)
    const read = () => caller(service?.url ?? '', key)('GET', '/v1/settings')
    expect((await read()).status).to.equal(200)
    fillDisk(disk.path)
    for (let round = 0; round < 3; round++) {
      const answers = await Promise.all(Array.from({ length: 700 }, read))
      const statuses = new Set(answers.map(({ status }) => status))
      expect([...statuses].sort()).to.deep.equal(round === 0 ? [200] : round === 1 ? [200, 429] : [429])
      for (const { headers } of answers) expect(headers.has('ratelimit')).to.equal(true)
    }
    expect(service.log()).to.include('counts its requests separately')
  })
})
