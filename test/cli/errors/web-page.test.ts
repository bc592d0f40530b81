import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { expectFailure } from '../../support/expect-failure.ts'
import { answer, startFaultServer, webPage } from '../../support/fault-server.ts'
import { perTest } from '../../support/lifetime.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'

describe('a service behind a program that responds to every request with a web page', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(() => startFaultServer(webPage))
  const run = (...args: string[]) =>
    runChatctl(sandbox, args, { env: { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'key-of-a-test' } })

  for (const line of [
    'users create --email ada@example.com --no-password',
    'users update u1 --name Ada',
    'users permissions assign u1 read:chat',
    'users settings set --theme dark',
    'settings api set --version v1',
  ]) {
    it(`confirms no change: chatctl ${line}`, async () => {
      const done = await run(...line.split(' '))
      expectFailure(done, 69, 'The outcome of the change is unknown', 'text/html, not JSON')
      const recorded = JSON.parse((await run('activity', '--json')).stdout)
      expect(recorded.map(({ outcome }: { outcome: string }) => outcome)).to.deep.equal(['unknown'])
    })
  }

  it('confirms no change with a text that is not JSON either', async () => {
    const other = await startFaultServer(answer(200, { 'content-type': 'text/plain' }, 'OK'))
    const done = await run('users', 'update', 'u1', '--name', 'Ada', '--base-url', other.url)
    await other.close()
    expectFailure(done, 69, 'The outcome of the change is unknown', 'text/plain, not JSON')
  })

  it('stops an import before it sends a row', async () => {
    const path = join(sandbox.home, 'users.csv')
    writeFileSync(path, 'email\nada@example.com\ngrace@example.com\n')
    const done = await run('users', 'import', path, '--yes')
    expectFailure(done, 1, 'text/html, not JSON')
    expect(server.requests.map(({ method }) => method)).to.deep.equal(['GET'])
  })
})
