import { expect } from 'chai'
import { expectFailure } from '../../support/expect-failure.ts'
import { perSuite, perTest } from '../../support/lifetime.ts'
import { type HostOptions, type Run, runChatctl, startChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { type Behavior, failing, json, startScriptedServer } from '../../support/scripted-server.ts'
import { until } from '../../support/until.ts'

describe('users create', () => {
  const sandbox = perSuite(createSandbox)
  const server = perTest(startScriptedServer)
  const created = json(201, { id: 'u1' })
  const words = ['users', 'create', '--email', 'ada@example.com', '--allow-duplicates']

  async function serve(behavior: Behavior): Promise<HostOptions> {
    await server.serve(behavior)
    return { service: server }
  }

  async function create(flags: readonly string[], behavior: Behavior = created, stdin = ''): Promise<Run> {
    return runChatctl(sandbox, [...words, ...flags], { ...(await serve(behavior)), stdin })
  }

  const bodies = () => server.requests.map(({ body }) => JSON.parse(body))

  describe('--password-stdin', () => {
    it('sends the first line as the password', async () => {
      for (const line of ['secret', 'secret\n', 'secret\r\n', 'secret\n\r\n\n']) {
        expect((await create(['--password-stdin'], created, line)).exitCode).to.equal(0)
        expect(bodies()).to.deep.equal([{ email: 'ada@example.com', password: 'secret' }])
      }
    })

    it('refuses a second line that is not empty, and does not show it', async () => {
      for (const lines of ['secret\nother\n', 'secret\n\nother', 'secret\r\nother']) {
        const run = await create(['--password-stdin'], created, lines)
        expectFailure(run, 2, 'stdin has more than one line, and a password is one line')
        expect(run.stderr).not.to.match(/secret|other/)
        expect(server.requests).to.deep.equal([])
      }
    })
  })

  describe('--no-password', () => {
    it('sends no password', async () => {
      expect((await create(['--no-password', '--name', 'Ada'])).exitCode).to.equal(0)
      expect(bodies()).to.deep.equal([{ email: 'ada@example.com', name: 'Ada' }])
    })

    for (const status of [400, 422])
      it(`names the password flags if the service rejects the user with ${status}`, async () =>
        expectFailure(
          await create(['--no-password'], failing(status, 'invalid_request', 'password is required')),
          1,
          'Error: password is required',
          'If the service requires a password, use --generate-password, --password-stdin, or --password-file.',
        ))

    it('gives no advice on a conflict if no email was sent', async () => {
      const settings = await serve(failing(409, 'conflict', 'No'))
      const run = await runChatctl(sandbox, ['users', 'create', '--no-password'], settings)
      expect(run.exitCode).to.equal(7)
      expect(run.stderr).to.contain('Error: No').and.not.to.contain('Hint:')
    })

    for (const other of [['--generate-password'], ['--password-stdin'], ['--password-file', 'p.txt']])
      it(`cannot be combined with ${other[0]}`, async () => {
        expectFailure(await create(['--no-password', ...other]), 2, 'cannot be used together')
        expect(server.requests).to.deep.equal([])
      })
  })

  describe('with a prompt for the password', () => {
    /** Types each text when its prompt is shown. */
    async function type(...texts: readonly string[]): Promise<Run> {
      const running = startChatctl(sandbox, words, { ...(await serve(created)), terminal: { columns: 80 } })
      let read = 0
      for (const [index, text] of texts.entries()) {
        const prompt = index % 2 === 0 ? '? Password:' : '? Password again:'
        await until(() => running.written().stdout.indexOf(prompt, read) !== -1)
        read = running.written().stdout.length
        running.stdin.write(`${text}\r`)
      }
      const run = await running.ended
      expect(run.stdout).not.to.include('canary')
      return run
    }

    it('sends a password that was typed twice', async () => {
      expect((await type('canary', 'canary')).exitCode).to.equal(0)
      expect(bodies()).to.deep.equal([{ email: 'ada@example.com', password: 'canary' }])
    })

    it('prompts again after two different passwords', async () => {
      const run = await type('canary', 'canary-1', 'canary-2', 'canary-2')
      expect(run.exitCode).to.equal(0)
      expect(run.stdout).to.include('The two passwords do not match. Type the password again.')
      expect(bodies()).to.deep.equal([{ email: 'ada@example.com', password: 'canary-2' }])
    })

    it('exits 2 after three pairs of different passwords', async () => {
      const run = await type('canary', 'a', 'canary', 'b', 'canary', 'c')
      expect(run.exitCode).to.equal(2)
      expect(run.stdout).to.include('The two passwords do not match')
      expect(server.requests).to.deep.equal([])
    })

    it('refuses an empty password, and names the flag for a user without one', async () => {
      const run = await type('')
      expect(run.exitCode).to.equal(2)
      expect(run.stdout).to.include('The password is empty').and.include('--no-password')
    })
  })
})
