import { once } from 'node:events'
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { Browser } from '../../service/oauth/browser.ts'
import { createUser, getTokens } from '../../service/oauth/flow.ts'
import { caller } from '../../service/temporary-service.ts'
import { perTest } from '../../support/lifetime.ts'
import { sendDelta, sendDone, startEvents, withModelServer } from '../../support/model-server.ts'
import { makeKey, runService } from '../../support/run-service.ts'
import { createSandbox } from '../../support/sandbox.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const shipped = ['bin', 'dist', 'package.json', 'oclif.manifest.json', 'node_modules/@node-rs']

describe('a service whose package is updated', () => {
  const sandbox = perTest(createSandbox)

  it('needs no file of the package after its start', () =>
    withModelServer(
      (response) => {
        startEvents(response)
        sendDelta(response, 'Hi', 'stop')
        sendDone(response)
      },
      async (modelServer) => {
        const copy = join(sandbox.home, 'package')
        for (const path of shipped) cpSync(join(root, path), join(copy, path), { recursive: true })
        const program = [process.execPath, join(copy, 'bin/run.js')] as const
        const service = await runService(sandbox, ['--model-server', modelServer.url], { program })
        // In the middle of an update, no file exists.
        rmSync(copy, { recursive: true })
        const { url } = service
        const call = caller(url, await makeKey(sandbox))
        await createUser({ call })
        const tokens = await getTokens(url, { browser: new Browser() })
        const person = caller(url, tokens.access_token)
        expect((await person('GET', '/api/user/profile')).body.email).to.equal('ada@example.com')
        const sent = await person('POST', '/api/chat/send', { message: 'x', model: 'm', stream: true })
        expect(sent.text).to.include('event: done')
        const stranger = caller(url, undefined)
        for (const [path, status] of [
          ['/', 200],
          ['/readyz', 200],
          ['/account', 303],
          ['/device', 303],
          ['/nowhere', 404],
        ] as const)
          expect((await fetch(url + path, { redirect: 'manual' })).status, path).to.equal(status)
        const form = { 'content-type': 'application/x-www-form-urlencoded' }
        const exchange = 'grant_type=urn:ietf:params:oauth:grant-type:token-exchange&subject_token=x'
        expect((await stranger('POST', '/oauth/token', exchange, form)).status).to.equal(400)
        service.child.kill('SIGHUP')
        const exit = once(service.child, 'exit')
        service.child.kill('SIGTERM')
        expect(await exit).to.deep.equal([0, null])
        const failures = service.log().match(/"level":[56]0.*/g)
        expect(failures).to.equal(null)
      },
    ))
})
