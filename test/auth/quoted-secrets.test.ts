import { expect } from 'chai'
import { expireCredential, readCredential } from '../support/credential-files.ts'
import { startLogin } from '../support/login-process.ts'
import { plantSignIn } from '../support/plant-sign-in.ts'
import { runChatctl } from '../support/run-chatctl.ts'
import { loginFlags } from '../support/sign-in.ts'
import { signInByHttp } from '../support/sign-in-by-http.ts'
import { makeSignInWorld } from '../support/sign-in-world.ts'
import { refusing } from '../support/token-endpoint.ts'

/** RFC 6749 section 5.2 leaves to the server what its error code is. */
describe('a token endpoint whose error quotes what it was sent', () => {
  const world = makeSignInWorld()

  for (const form of [[], ['--json'], ['--debug'], ['--json', '--debug']]) {
    const title = form.join(' ') || 'plain'

    it(`does not have a refresh token shown: ${title}`, async () => {
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

    it(`does not have a code or its verifier shown: ${title}`, async () => {
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
