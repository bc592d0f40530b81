import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { UsersHandler } from '../support/handlers/users.ts'
import { perTest } from '../support/lifetime.ts'
import { createSandbox } from '../support/sandbox.ts'
import { serveHandler } from '../support/scripted-server.ts'
import { bind, Terminal } from './terminal.ts'

describe('importing a file in a terminal', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(() => serveHandler(new UsersHandler({ delay: 5 })))
  let terminal: Terminal | undefined
  let path: string
  let user: string
  beforeEach(() => {
    sandbox.env['CHATCTL_BASE_URL'] = server.url
    sandbox.env['CHATCTL_API_KEY'] = 'some-key'
    path = join(sandbox.home, 'rows.csv')
    user = server.add({ email: 'ada@example.com' })
  })
  afterEach(() => {
    terminal?.kill()
  })

  const start = (text: string, ...args: string[]) => {
    writeFileSync(path, text)
    terminal = new Terminal(sandbox, args)
    return bind(terminal)
  }
  const made = () => server.report().creates.size
  const assigned = () => server.report().assignments.size

  it('shows the plan, and starts after the confirmation prompt', async () => {
    const { type, waitFor, end } = start('email\na@example.com\nb@example.com\n', 'users', 'import', path)
    await waitFor('Send ')
    expect(terminal?.shown).to.contain('2 rows, 2 requests: 2 creates')
    expect(made()).to.equal(0)
    type('y\r')
    expect(await end()).to.equal(0)
    expect(made()).to.equal(2)
  })

  it('sends nothing if the confirmation prompt is declined', async () => {
    const { type, waitFor, end } = start('email\na@example.com\n', 'users', 'import', path)
    await waitFor('Send ')
    type('n\r')
    expect(await end()).to.equal(3)
    expect(made()).to.equal(0)
  })

  it('needs a confirmation for assignments too, except with --yes', async () => {
    const args = ['users', 'permissions', 'assign', '--file', path]
    const asked = start(`id,role\n${user},editor\n`, ...args)
    await asked.waitFor('Send ')
    asked.type('n\r')
    expect(await asked.end()).to.equal(3)
    expect(assigned()).to.equal(0)
    const unasked = start(`id,role\n${user},editor\n`, ...args, '--yes')
    expect(await unasked.end()).to.equal(0)
    expect(terminal?.shown).not.to.contain('Send ')
    expect(assigned()).to.equal(1)
  })

  it('shows its progress', async () => {
    const rows = Array.from({ length: 600 }, (_, index) => `u${index}@example.com\n`).join('')
    const { end } = start(`email\n${rows}`, 'users', 'import', path, '--yes', '--concurrency', '2')
    expect(await end()).to.equal(0)
    expect(terminal?.shown).to.match(/\d+% +[\d,]+ of 600 rows done/)
  })
})
