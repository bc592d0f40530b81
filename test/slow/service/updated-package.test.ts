import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
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

describe('the OAuth server of the embedded service', () => {
  it('is loaded by a service before it listens, and not by a command that opens the data', async () => {
    const url = (path: string) => JSON.stringify(new URL(path, import.meta.url).href)
    const code = `
      import { registerHooks } from 'node:module'
      const loaded = new Set()
      registerHooks({ resolve(name, context, next) {
        for (const heavy of ['oidc-provider', 'otpauth', 'uqr', '@node-rs/argon2']) if (name === heavy) loaded.add(heavy)
        return next(name, context)
      } })
      const { withDirectory, withService } = await import(${url('../../service/temporary-service.ts')})
      const { openEmbeddedService } = await import(${url('../../../src/service/open-embedded-service.ts')})
      await withDirectory(async (dataDir) => (await openEmbeddedService({ dataDir })).close())
      console.log([...loaded].join())
      await withService(() => console.log([...loaded].sort().join()))`
    const child = spawn(process.execPath, ['--input-type=module', '--eval', code], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    expect(await text(child.stdout)).to.equal('\n@node-rs/argon2,oidc-provider,otpauth,uqr\n')
  })
})
