import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { downloadNode } from '../../scripts/release/download-node.ts'
import { answer, startFaultServer } from '../support/fault-server.ts'
import { perTest } from '../support/lifetime.ts'
import { createSandbox } from '../support/sandbox.ts'

describe('the official Node.js binary', () => {
  const sandbox = perTest(createSandbox)
  const files = new Map<string, Buffer>()
  const server = perTest(() =>
    startFaultServer({
      choose: ({ path }) => {
        const content = files.get(path.slice(1))
        return content ? answer(200, {}, content) : answer(404)
      },
    }),
  )
  const directory = () => join(sandbox.home, 'node')
  const archive = `node-${process.version}-linux-x64.tar.gz`

  beforeEach(() => {
    const root = join(sandbox.home, archive.replace('.tar.gz', ''), 'bin')
    mkdirSync(root, { recursive: true })
    writeFileSync(join(root, 'node'), 'Node for Linux')
    files.set(archive, execFileSync('tar', ['-cz', '-C', sandbox.home, archive.replace('.tar.gz', '')]))
    files.set('win-x64/node.exe', Buffer.from('Node for Windows'))
    const sums = [...files].map(
      ([name, content]) => `${createHash('sha256').update(content).digest('hex')}  ${name}\n`,
    )
    files.set('SHASUMS256.txt', Buffer.from(sums.join('')))
  })
  afterEach(() => files.clear())

  it('is downloaded for each system, and verified', async () => {
    const linux = await downloadNode('linux-x64', directory(), server.url)
    expect(readFileSync(linux, 'utf8')).to.equal('Node for Linux')
    const windows = await downloadNode('win-x64', directory(), server.url)
    expect(readFileSync(windows, 'utf8')).to.equal('Node for Windows')
    expect([linux, windows]).to.deep.equal(['node', 'node.exe'].map((name) => join(directory(), name)))
  })

  it('is not written if the checksum is wrong, or missing', async () => {
    const failure = (target: string) => downloadNode(target, directory(), server.url).catch(String)
    files.set('win-x64/node.exe', Buffer.from('Another program'))
    expect(await failure('win-x64')).to.contain('The checksum of')
    expect(await failure('plan9-x64')).to.contain('does not list')
    files.delete('SHASUMS256.txt')
    expect(await failure('linux-x64')).to.contain('404')
    expect(existsSync(directory())).to.equal(false)
  })
})
