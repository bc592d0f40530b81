import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { refusing, startAuthorizationServer } from '../support/authorization-server.ts'
import {
  changeCredential,
  expireCredential,
  findCredentials,
  readCredential,
} from '../support/credential-files.ts'
import { expectFailure } from '../support/expect-failure.ts'
import { startBearerService, tokensSeen } from '../support/handlers/bearer.ts'
import { perTest } from '../support/lifetime.ts'
import { plantSignIn } from '../support/plant-sign-in.ts'
import { type Run, runChatctl, startChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import { answer, type Behavior } from '../support/scripted-server.ts'

describe('renewing a token', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(startAuthorizationServer)
  let onRequest: () => void
  const service = perTest(() =>
    startBearerService((token) => {
      onRequest()
      return server.live.has(token)
    }),
  )
  beforeEach(() => {
    onRequest = () => {}
    plantSignIn(sandbox, { server, service })
  })

  const run = (...args: string[]): Promise<Run> => runChatctl(sandbox, args)
  const models = (...more: string[]): Promise<Run> => run('chat', 'models', ...more)

  /** Changes the stored token to one that expires in 50 s: due for renewal, but valid. */
  function reachLastMinute(): void {
    const expiresAt = Date.now() + 50_000
    changeCredential(sandbox, {
      obtained_at: new Date(expiresAt - 3_600_000).toISOString(),
      expires_at: new Date(expiresAt).toISOString(),
    })
  }

  // Fetch standard: a Response with the status 204 has no body.

  for (const [what, behavior] of [
    ['204', answer(204)],
    ['invalid_grant', refusing('invalid_grant')],
  ] as [string, Behavior][])
    it(`may fail while the token is valid: ${what}`, async () => {
      reachLastMinute()
      server.script.token = [behavior]
      expect(await models()).to.include({ exitCode: 0 })
      expect(server.refreshes()).to.have.length(1)
      expect(tokensSeen(service)).to.deep.equal(['access-token-1'])
    })

  it('exits 4 if it fails and the service refuses the token', async () => {
    reachLastMinute()
    server.live.clear()
    server.script.token = [refusing('invalid_grant')]
    expectFailure(
      await models(),
      4,
      'has ended',
      /^Hint: {2}Sign in again with: chatctl auth login --profile work$/m,
    )
    expect(tokensSeen(service), 'once').to.deep.equal(['access-token-1'])
  })

  it('prints a warning if the new tokens cannot be stored, and the command succeeds', async () => {
    expireCredential(sandbox)
    const directory = dirname(findCredentials(sandbox)[0] ?? '')
    const good = server.tokens()
    server.script.token = [
      (...all) => {
        renameSync(directory, join(sandbox.home, 'aside'))
        writeFileSync(directory, '')
        return good(...all)
      },
    ]
    const { exitCode, stdout, stderr } = await models('--json')
    expect(exitCode, stderr).to.equal(0)
    expect(JSON.parse(stdout).data).to.have.length(1)
    expect(stderr).not.to.match(/(access|refresh)-token-\d/)
    const lines = stderr.trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line).warning?.message)).to.have.length(1)
    expect(stderr).to.contain('could not be stored').and.contain(directory)
    expect(stderr).to.contain('may stay valid at the server').and.contain('auth login --profile work')
    expect(tokensSeen(service)).to.deep.equal(['access-token-2'])
  })

  it('stores the new tokens after Ctrl-C during the renewal, and sends nothing else: exit 130', async () => {
    expireCredential(sandbox)
    const good = server.tokens()
    server.script.token = [
      (...all) => {
        running.interrupt()
        return good(...all)
      },
    ]
    const running = startChatctl(sandbox, ['chat', 'models'])
    expect(await running.ended).to.include({ exitCode: 130, stdout: '' })
    expect(readCredential(sandbox).refresh_token).to.equal('refresh-token-2')
    expect(tokensSeen(service)).to.deep.equal([])
  })

  it('does not spend a refresh token twice if the new one cannot be stored', async () => {
    expireCredential(sandbox)
    const directory = dirname(findCredentials(sandbox)[0] ?? '')
    const aside = join(sandbox.home, 'aside')
    const good = server.tokens()
    server.script.token = [
      async (...all) => {
        renameSync(directory, aside)
        writeFileSync(directory, '')
        await good(...all)
        server.live.delete('access-token-2')
      },
      good,
    ]
    // When the service refuses the new token, the old one can be read again.
    onRequest = () => {
      if (!existsSync(aside)) return
      rmSync(directory)
      renameSync(aside, directory)
    }
    const { exitCode, stderr } = await models()
    expect(exitCode, stderr).to.equal(0)
    expect(stderr).to.contain('could not be stored')
    const shown = server.refreshes().map((form) => form.get('refresh_token'))
    expect(shown).to.deep.equal(['refresh-token-1', 'refresh-token-2'])
    expect(tokensSeen(service)).to.deep.equal(['access-token-2', 'access-token-3'])
    expect(readCredential(sandbox).refresh_token).to.equal('refresh-token-3')
  })
})
