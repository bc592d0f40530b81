import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { expectFailure } from '../support/expect-failure.ts'
import { runBuilt } from '../support/run-chatctl.ts'
import { createSandbox, type Sandbox } from '../support/sandbox.ts'

describe('a harsh machine', () => {
  let sandbox: Sandbox
  let data: string
  beforeEach(() => {
    sandbox = createSandbox()
    data = join(sandbox.home, '.local', 'share', 'chatctl')
  })
  afterEach(() => sandbox.remove())

  const run = (args: string[], env: NodeJS.ProcessEnv = {}) => runBuilt(sandbox, args, { env })

  it('ten first commands at once make the data once, and all are kept', async () => {
    const runs = await Promise.all(
      Array.from({ length: 10 }, (_, index) => run(['chat', 'send', `m${index}`])),
    )
    expect(runs.map(({ exitCode }) => exitCode)).to.deep.equal(Array(10).fill(0))
    expect(runs.filter(({ stderr }) => stderr.includes('embedded service'))).to.have.length(1)
    const status = JSON.parse((await run(['service', 'status', '--json'])).stdout)
    expect(status).to.include({ contexts: 10, messages: 20 })
  })

  it('a home that is a file: reading the configuration works, what must write says where it cannot', async () => {
    const home = join(sandbox.home, 'file')
    writeFileSync(home, 'x')
    const env = { HOME: home }
    expect(await run(['config', 'list'], env)).to.include({ exitCode: 0, stderr: '' })
    expectFailure(await run(['chat', 'send', 'hi'], env), 1, home, 'is not a folder')
    expectFailure(
      await run(['config', 'set', 'model', 'x'], env),
      1,
      home,
      'not a directory',
      'XDG_CONFIG_HOME',
    )
    expect(readFileSync(home, 'utf8')).to.equal('x')
  })

  it('a HOME that is empty, relative or not there leaves nothing in the folder one stands in', async () => {
    // The compile cache must not go to the tester's own home.
    const cache = join(sandbox.home, 'cache')
    for (const home of ['', 'relative', undefined]) {
      const { stdout } = await run(['config', 'path'], { HOME: home, XDG_CACHE_HOME: cache })
      expect(stdout.startsWith('/')).to.equal(true)
      expect(stdout).to.contain(join('.config', 'chatctl', 'config.json'))
      expect(stdout.startsWith(sandbox.home)).to.equal(false)
    }
    expect(readdirSync(sandbox.home)).to.deep.equal(['cache'])
  })

  it('XDG paths are followed when they are absolute, and ignored when not', async () => {
    const xdg = join(sandbox.home, 'xdg')
    const relative = { XDG_CONFIG_HOME: 'a', XDG_DATA_HOME: 'b', XDG_STATE_HOME: './c', XDG_CACHE_HOME: 'd' }
    expect(await run(['chat', 'send', 'hi'], relative)).to.include({ exitCode: 0 })
    expect(readdirSync(sandbox.home).sort()).to.deep.equal(['.cache', '.local'])
    const absolute = { XDG_CONFIG_HOME: xdg, XDG_DATA_HOME: xdg, XDG_STATE_HOME: xdg, XDG_CACHE_HOME: xdg }
    expect(await run(['chat', 'send', 'hi'], absolute)).to.include({ exitCode: 0 })
    expect(await run(['config', 'set', 'model', 'offline'], absolute)).to.include({ exitCode: 0 })
    expect(readdirSync(join(xdg, 'chatctl')).sort()).to.deep.equal([
      'cache',
      'chatctl.db',
      'config.json',
      'state',
    ])
    expect(readdirSync(sandbox.home).sort()).to.deep.equal(['.cache', '.local', 'xdg'])
  })

  /** Fails in the same words for all that open the data, and changes no byte of it. */
  async function expectRefused(content: Buffer, ...words: string[]): Promise<void> {
    const file = join(data, 'chatctl.db')
    writeFileSync(file, content)
    for (const args of [
      ['chat', 'send', 'hi'],
      ['service', 'run', '--port', '0'],
      ['service', 'keys', 'list'],
      ['service', 'sessions', 'list'],
      ['service', 'keys', 'create', '--name', 'x'],
      ['service', 'status'],
    ]) {
      expectFailure(await run(args), 1, file, ...words, 'Hint: ')
      expect(readFileSync(file).equals(content)).to.equal(true)
    }
  }

  it('data that is no database, or only the beginning of one, is refused and kept', async () => {
    await run(['chat', 'send', 'hi'])
    const whole = readFileSync(join(data, 'chatctl.db'))
    await expectRefused(Buffer.from('not a database, and long enough '.repeat(40)), 'damaged', 'backup')
    await expectRefused(whole.subarray(0, 20_000), 'damaged', 'backup')
  })

  it('data of a newer program is refused and kept', async () => {
    await run(['chat', 'send', 'hi'])
    const file = join(data, 'chatctl.db')
    const newer = new DatabaseSync(file)
    newer.exec("insert into migrations values (99, 'later', 'sum', '2030-01-01T00:00:00Z')")
    newer.close()
    await expectRefused(readFileSync(file), 'was made by a newer chatctl')
  })

  it('data that is damaged inside is said to be damaged, by every door', async () => {
    await run(['chat', 'send', 'hi'])
    const file = join(data, 'chatctl.db')
    cpSync(file, `${file}.good`)
    const bytes = readFileSync(file)
    bytes.fill(0xa5, 8_192, 60_000)
    writeFileSync(file, bytes)
    expectFailure(await run(['settings', 'get', '--retries', '0']), 69, 'data of the service is damaged')
    expectFailure(await run(['service', 'status']), 1, 'is damaged')
    cpSync(`${file}.good`, file)
    expect(await run(['settings', 'get'])).to.include({ exitCode: 0 })
  })

  it('data in the way of which a folder stands is refused', async () => {
    mkdirSync(join(data, 'chatctl.db'), { recursive: true })
    expectFailure(await run(['chat', 'send', 'hi']), 1, data, 'EISDIR')
  })
})
