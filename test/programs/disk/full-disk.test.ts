import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { startService } from '../../../src/service/start-service.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { startBearerService } from '../../support/handlers/bearer.ts'
import { perSuite } from '../../support/lifetime.ts'
import { runProgram } from '../../support/run-program.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { loginWithKey, storedKey } from '../keychain/stored-key.ts'
import { fillDisk, mountSmallDisk } from './small-disk.ts'

/** Needs root to mount a disk. */
describe('a full disk', () => {
  const sandbox = perSuite(createSandbox)
  let disk: string
  let unmount: () => void
  before(() => {
    ;({ path: disk, unmount } = mountSmallDisk(sandbox, '1m'))
  })
  after(() => {
    unmount()
  })

  const run = (...args: string[]) => runProgram(sandbox, args, { env: { XDG_DATA_HOME: disk } })

  it('causes an error that names the disk if no data exists yet, and creates none', async () => {
    const free = fillDisk(disk)
    expectFailure(await run('chat', 'send', 'hi'), 1, 'No space left on the disk of', disk, 'Hint:  ')
    expectFailure(await run('service', 'keys', 'create', '--name', 'x'), 1, 'No space left')
    free()
    expect(await run('chat', 'send', 'hi')).to.include({ exitCode: 0 })
  })

  it('rejects a message that does not fit, and still allows reads and smaller messages', async () => {
    const before = JSON.parse((await run('history', 'list', '--json')).stdout)
    const free = fillDisk(disk, 600_000)
    const args = ['chat', 'send', '--json']
    const big = await runProgram(sandbox, args, {
      env: { XDG_DATA_HOME: disk },
      stdin: 'x'.repeat(1_000_000),
    })
    expect(big, big.stderr).to.include({ exitCode: 69, stdout: '' })
    const [warning = '', error = ''] = big.stderr.split('\n')
    expect(JSON.parse(warning).warning.message).to.contain('does not record the message and its reply')
    expect(JSON.parse(error).error).to.include({ code: 'storage_full', status: 507 })
    expect(JSON.parse((await run('history', 'list', '--json')).stdout)).to.deep.equal(before)
    expect(await run('chat', 'send', 'small')).to.include({ exitCode: 0 })
    const after = JSON.parse((await run('history', 'list', '--json')).stdout)
    expect(after.messages).to.have.length(before.messages.length + 2)
    free()
  })

  it('makes a service process not ready, until there is space again', async () => {
    const service = await startService({ dataDir: join(disk, 'service') })
    const ready = async () => {
      const answer = await fetch(`${service.url}/readyz`)
      return [answer.status, JSON.parse(await answer.text()).error?.code]
    }
    expect(await ready()).to.deep.equal([200, undefined])
    const free = fillDisk(disk)
    while ((await ready())[0] === 200);
    expect(await ready()).to.deep.equal([503, 'storage_full'])
    free()
    while ((await ready())[0] !== 200);
    await service.close()
  })

  it('leaves the configuration file unchanged', async () => {
    const directory = join(disk, 'config')
    const set = (value: string) =>
      runProgram(sandbox, ['config', 'set', 'model', value], { env: { XDG_CONFIG_HOME: directory } })
    expect(await set('first')).to.include({ exitCode: 0 })
    const free = fillDisk(disk)
    expectFailure(await set('second'), 1, ': no space left on device (ENOSPC)')
    const get = await runProgram(sandbox, ['config', 'get', 'model'], { env: { XDG_CONFIG_HOME: directory } })
    expect(get.stdout).to.equal('first\n')
    free()
    expect(await set('third')).to.include({ exitCode: 0 })
  })

  it('leaves the old credential, and nothing of the new one', async () => {
    const service = await startBearerService(() => true)
    // No other test uses this profile.
    const env = { XDG_DATA_HOME: disk, XDG_CONFIG_HOME: join(sandbox.home, 'of-credential') }
    const login = (key: string) => {
      const options = { env, flags: ['--insecure-storage'] }
      return loginWithKey(sandbox, service, key, options)
    }
    const directory = join(disk, 'chatctl', 'credentials')
    const kept = () =>
      readdirSync(directory).map((name) => readFileSync(join(directory, name), 'utf8').trim())
    let free = () => {}
    try {
      expect(await login('canary-1')).to.include({ exitCode: 0 })
      free = fillDisk(disk)
      const { exitCode, stderr } = await login('canary-2')
      expect(exitCode, stderr).to.equal(1)
      expect(stderr).to.contain(': no space left on device (ENOSPC)')
      expect(kept()).to.deep.equal([storedKey('canary-1')])
      free()
      expect(await login('canary-3')).to.include({ exitCode: 0 })
      expect(kept()).to.deep.equal([storedKey('canary-3')])
    } finally {
      free()
      await service.close()
    }
  })
})
