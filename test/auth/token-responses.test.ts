import { expect } from 'chai'
import { expireCredential, readCredential } from '../support/credential-files.ts'
import { runChatctl } from '../support/run-chatctl.ts'
import { signIn } from '../support/sign-in.ts'
import { makeSignInWorld } from '../support/sign-in-world.ts'

/** Responses of servers in use that go beyond the examples of RFC 6749. */
describe('an unusual but valid response of the token endpoint', () => {
  const world = makeSignInWorld()

  for (const [what, fields] of [
    ['the type in lower case', { token_type: 'bearer' }],
    ['a lifetime as a string', { expires_in: '3600' }],
    ['a lifetime of centuries', { expires_in: 1e13 }],
    ['unknown fields', { x: { y: 1 }, error_description: null }],
    ['a token of 16 kB', { access_token: 'a'.repeat(16_000) }],
  ] as const)
    it(`may contain ${what}`, async () => {
      world.server.script.token = [world.server.tokens(fields)]
      await signIn(world.sandbox, world, ['--no-verify'])
      const { access_token, expires_at = '' } = readCredential(world.sandbox)
      expect(world.server.live).to.include(access_token)
      expect(Date.parse(expires_at) - Date.now()).to.be.above(3_500_000)
    })

  for (const fields of [
    { refresh_token: null },
    { refresh_token: '' },
    { expires_in: null },
    { expires_in: '' },
    { scope: null },
    { scope: ['chat:read', 'chat:write'] },
    { refresh_token: null, expires_in: null, scope: '', id_token: null },
  ])
    it(`is usable with ${JSON.stringify(fields)}`, async () => {
      world.server.script.token = [world.server.tokens(fields)]
      await signIn(world.sandbox, world, ['--scope', 'chat:read chat:write'])
      const stored = readCredential(world.sandbox)
      expect(world.server.live).to.include(stored.access_token)
      expect(stored.scope).to.equal('chat:read chat:write')
      if ('refresh_token' in fields) expect(stored).not.to.have.property('refresh_token')
      if ('expires_in' in fields) expect(stored).not.to.have.property('expires_at')
      expect(await runChatctl(world.sandbox, ['chat', 'models'])).to.include({ exitCode: 0 })
    })

  for (const field of ['refresh_token', 'expires_in'] as const)
    it(`renews the sign-in with ${field}: null`, async () => {
      await signIn(world.sandbox, world, [])
      const { refresh_token: before } = readCredential(world.sandbox)
      expireCredential(world.sandbox)
      world.server.script.token = [world.server.tokens({ [field]: null })]
      expect(await runChatctl(world.sandbox, ['chat', 'models'])).to.include({ exitCode: 0 })
      const stored = readCredential(world.sandbox)
      expect(world.server.live).to.include(stored.access_token)
      if (field === 'refresh_token') expect(stored.refresh_token).to.equal(before)
      else expect(stored).not.to.have.property('expires_at')
    })
})
