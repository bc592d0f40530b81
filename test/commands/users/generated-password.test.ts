import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { generatePassword } from '../../../src/cli/input/read-password.ts'
import { perTest } from '../../support/lifetime.ts'
import { type Running, startChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import {
  type Behavior,
  failing,
  json,
  type RecordedRequest,
  reset,
  resetMidBody,
  silent,
  startScriptedServer,
} from '../../support/scripted-server.ts'

describe('users create --generate-password', () => {
  const sandbox = perTest(createSandbox)

  const directory = () => join(sandbox.home, '.local', 'state', 'chatctl', 'state', 'passwords')
  const kept = () =>
    existsSync(directory()) ? readdirSync(directory()).map((name) => join(directory(), name)) : []

  /** @param meanwhile is called when the request arrives, before the response is sent */
  async function create(
    behavior: Behavior,
    flags: readonly string[] = [],
    meanwhile: (running: Running) => void = () => {},
  ) {
    let running: Running | undefined
    const sent: RecordedRequest[] = []
    const server = await startScriptedServer((request, response, incoming) => {
      sent.push(request)
      if (running) meanwhile(running)
      return behavior(request, response, incoming)
    })
    const words = ['users', 'create', '--email', 'ada@example.com', '--generate-password', ...flags]
    running = startChatctl(sandbox, words, { service: server })
    running.stdin.end()
    const run = await running.ended
    await server.close()
    const password = sent[0] && JSON.parse(sent[0].body).password
    return { ...run, password, url: server.url }
  }

  /** Expects one private file with the password that was sent, and its path on stderr. */
  function expectKept({ password, stderr, url }: Awaited<ReturnType<typeof create>>): void {
    const [path = '', ...others] = kept()
    expect(others).to.deep.equal([])
    expect(JSON.parse(readFileSync(path, 'utf8'))).to.include({
      service: `${url}/`,
      email: 'ada@example.com',
      password,
    })
    if (process.platform !== 'win32') {
      expect(statSync(path).mode & 0o777).to.equal(0o600)
      expect(statSync(directory()).mode & 0o777).to.equal(0o700)
    }
    expect(stderr).to.contain(`The generated password is in ${path}`).and.not.to.contain(password)
  }

  for (const [what, behavior] of [
    ['is lost to a connection reset', reset],
    ['is interrupted', resetMidBody()],
    ['is 502', failing(502, 'bad_gateway', 'Bad gateway')],
    ['does not arrive in time', silent],
  ] as const)
    it(`keeps the password in a file and names the file if the response ${what}`, async () => {
      const run = await create(behavior, ['--timeout', '500ms'])
      expect(run).to.include({ exitCode: 69, stdout: '' })
      expectKept(run)
    })

  it('keeps the password in a file and names the file if a signal ends the run after the request', async () => {
    const run = await create(silent, ['--json'], (running) => running.interrupt('SIGINT'))
    expect(run.exitCode).to.equal(130)
    expectKept(run)
    const { error } = JSON.parse(run.stderr)
    expect(error.message).to.contain('The outcome of the change is unknown')
    expect(error.hint).to.contain('The user may exist').and.to.contain('The generated password is in')
  })

  it('creates the file before it sends the request', async () => {
    const found: string[] = []
    const run = await create(json(201, { id: 'u1' }), ['--json'], () => {
      found.push(...kept().map((path) => JSON.parse(readFileSync(path, 'utf8')).password))
    })
    expect(found).to.deep.equal([run.password])
  })

  it('prints the password of a created user, and leaves no file', async () => {
    const run = await create(json(201, { id: 'u1' }), ['--json'])
    expect(run.exitCode, run.stderr).to.equal(0)
    expect(JSON.parse(run.stdout)).to.deep.equal({ id: 'u1', generated_password: run.password })
    expect(kept()).to.deep.equal([])
  })

  it('uses a temporary directory if the state directory cannot be written', async () => {
    const temporary = join(sandbox.home, 'tmp')
    mkdirSync(temporary)
    sandbox.env = { ...sandbox.env, XDG_STATE_HOME: '/dev/null', TMPDIR: temporary }
    expect((await create(json(201, { id: 'u1' }))).exitCode).to.equal(0)
    expect(readdirSync(temporary)).to.deep.equal([])
    const lost = await create(reset)
    const [name = ''] = readdirSync(temporary)
    expect(lost.stderr).to.contain(`The generated password is in ${join(temporary, name)}`)
  })

  it('sends nothing if the password cannot be written to a file', async () => {
    sandbox.env = { ...sandbox.env, XDG_STATE_HOME: '/dev/null', TMPDIR: '/dev/null' }
    const run = await create(json(201, { id: 'u1' }))
    expect(run).to.include({ exitCode: 1, password: undefined })
    expect(run.stderr).to.contain('Cannot write the generated password to a file')
  })

  it('does not begin a password with a character that a spreadsheet takes for a formula', () => {
    for (let n = 0; n < 2_000; n++) expect(generatePassword()).to.match(/^[^=+@\t\r-]/)
  })

  it('leaves no file if no user was created', async () => {
    for (const status of [400, 401, 409]) {
      const run = await create(failing(status, 'refused', 'No'))
      expect(run.exitCode).to.be.above(0)
      expect(run.stderr).not.to.contain('generated password')
      expect(kept()).to.deep.equal([])
    }
    expect((await create(json(200, {}), ['--dry-run'])).exitCode).to.equal(0)
    expect(kept()).to.deep.equal([])
  })
})
