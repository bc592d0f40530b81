import { expect } from 'chai'
import { refusing } from '../../support/authorization-server.ts'
import { expireCredential, readCredential } from '../../support/credential-files.ts'
import { startLogin } from '../../support/login-process.ts'
import { plantSignIn } from '../../support/plant-sign-in.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { loginFlags } from '../../support/sign-in.ts'
import { signInByHttp } from '../../support/sign-in-by-http.ts'
import { makeSignInWorld } from '../../support/sign-in-world.ts'

/** RFC 6749 section 5.2 lets the server choose the text of its error code. */
describe('an error of the token endpoint that quotes the request', () => {
  const world = makeSignInWorld()

  for (const form of [[], ['--json'], ['--debug'], ['--json', '--debug']]) {
    const title = form.join(' ') || 'text'

    it(`is shown without the refresh token: ${title}`, async () => {
      plantSignIn(world.sandbox, world)
      expireCredential(world.sandbox)
      const { refresh_token: secret = '' } = readCredential(world.sandbox)
      for (const code of [secret, `bad ${secret}`]) {
        world.server.script.token = [refusing(code, `no ${secret}`)]
        const { exitCode, stdout, stderr } = await runChatctl(world.sandbox, ['chat', 'models', ...form])
        expect(exitCode, stderr).to.equal(4)
        expect(stdout).to.equal('')
        expect(stderr).to.contain(' failed: ').and.not.contain(secret)
      }
    })

    it(`is shown without the code and its verifier: ${title}`, async () => {
      let secrets: string[] = []
      world.server.script.token = [
        (request, ...rest) => {
          const sent = new URLSearchParams(request.body)
          secrets = [sent.get('code') ?? '', sent.get('code_verifier') ?? '']
          return refusing(secrets.join(' '), secrets.join(' '))(request, ...rest)
        },
      ]
      const flags = [...loginFlags(world), '--no-browser', ...form]
      const { address, ended } = startLogin(world.sandbox, flags)
      await signInByHttp((await address()).href)
      const { exitCode, stdout, stderr } = await ended
      expect(exitCode, stderr).to.equal(4)
      expect(stdout).to.equal('')
      expect(stderr).to.contain(' failed: ')
      expect(secrets).to.have.length(2)
      for (const secret of secrets) expect(stderr).not.to.contain(secret)
    })
  }
})
