import { expect } from 'chai'
import { readCredential } from '../../support/credential-files.ts'
import { perTest } from '../../support/lifetime.ts'
import { type HostOptions, runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { json, startScriptedServer } from '../../support/scripted-server.ts'
import { storeKey } from '../../support/sign-in.ts'
import { SteppedClock } from '../../support/stepped-clock.ts'

describe('the expiry of an API key', () => {
  const sandbox = perTest(createSandbox)
  const end = '2027-01-31T00:00:00.000Z'
  let header: string = end
  const service = perTest(() =>
    startScriptedServer((request, response, incoming) => {
      const answer = request.path === '/api/user/profile' ? { id: 'u1' } : { data: [] }
      return json(200, answer, { 'x-credential-expires-at': header })(request, response, incoming)
    }),
  )
  beforeEach(() => {
    header = end
  })

  const run = (args: string[], before: number, options: HostOptions = {}) => {
    const clock = new SteppedClock(undefined, Date.parse(end) - before)
    return runChatctl(sandbox, args, { host: { clock }, ...options })
  }
  const day = 86_400_000

  it('is stored at sign-in, and shown by auth list, auth status, and auth token', async () => {
    await storeKey(sandbox, 'key-1', service)
    expect(readCredential(sandbox)).to.include({ expires_at: end })
    const requests = service.requests.length
    for (const args of [
      ['auth', 'list'],
      ['auth', 'status', '--no-verify'],
      ['auth', 'token'],
    ])
      expect((await run([...args, '--json'], 90 * day)).stdout, args.join(' ')).to.contain(`"${end}"`)
    expect(service.requests).to.have.length(requests)
  })

  it('is shown by auth status as the service says now', async () => {
    await storeKey(sandbox, 'key-1', service)
    header = '2028-01-31T00:00:00Z'
    const { stdout } = await run(['auth', 'status', '--json'], 90 * day)
    expect(JSON.parse(stdout)).to.include({ expires_at: '2028-01-31T00:00:00.000Z' })
    const options = { env: { CHATCTL_API_KEY: 'key-1' } }
    const fromEnvironment = await run(['auth', 'status', '--json'], 90 * day, options)
    expect(JSON.parse(fromEnvironment.stdout)).to.include({ expires_at: '2028-01-31T00:00:00.000Z' })
  })

  it('gives one warning within seven days, also for a key in the environment, and none with --quiet', async () => {
    await storeKey(sandbox, 'key-1', service)
    const words = `Warning: The API key expires in 2d 5h, at ${end}.\n`
    expect(await run(['chat', 'models'], 53 * 3_600_000)).to.include({ exitCode: 0, stderr: words })
    const env = { CHATCTL_API_KEY: 'key-1', CHATCTL_BASE_URL: service.url }
    expect((await run(['chat', 'models'], 53 * 3_600_000, { env })).stderr).to.equal(words)
    expect((await run(['chat', 'models', '--quiet'], day)).stderr).to.equal('')
    const { stderr } = await run(['chat', 'models', '--json'], day)
    expect(JSON.parse(stderr)).to.have.nested.property('warning.message')
  })

  it('gives the warning for a credential command, unless it says that it prints an access token', async () => {
    const warn = async (output: string) => {
      const command = `echo '${output}'`
      const login = ['auth', 'login', '--profile', 'work', '--base-url', service.url, '--no-verify']
      await run([...login, '--credential-command', command], day)
      return (await run(['chat', 'models'], day)).stderr
    }
    const words = `Warning: The API key expires in 24h, at ${end}.\n`
    expect(await warn('key-1')).to.equal(words)
    expect(await warn('{"api_key":"key-1"}')).to.equal(words)
    expect(await warn('{"access_token":"key-1"}')).to.equal('')
  })
})
