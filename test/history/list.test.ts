import { expect } from 'chai'
import { storedAt } from '../support/handlers/history.ts'
import { perTest } from '../support/lifetime.ts'
import { runChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import { json, startScriptedServer } from '../support/scripted-server.ts'
import { exportEnvironment } from './export-run.ts'

const page = storedAt([1, 2, 3]).toReversed()

describe('history list, if the service returns the newest message first', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(startScriptedServer)

  async function list(messages: unknown[], ...args: string[]) {
    await server.serve(json(200, { messages, has_more: true }))
    return runChatctl(sandbox, ['history', 'list', ...args], { env: exportEnvironment(server.url) })
  }

  it('prints the oldest message first, and the command for older messages', async () => {
    const { stdout, stderr } = await list(page, '--context', "it's", '--before=m9', '-n', '3')
    expect(stdout.match(/^m\d/gm)).to.deep.equal(['m0', 'm1', 'm2'])
    expect(stderr).to.equal('There is more: chatctl history list --context "it\'s" -n 3 --before m0\n')
  })

  it('follows the IDs if the clock of the service was set back', async () => {
    const stored = storedAt([9, 9, 9, 1, 1, 1])
    for (const sent of [stored, stored.toReversed()])
      expect((await list(sent)).stdout.match(/^m\d/gm)).to.deep.equal(stored.map(({ id }) => id))
  })

  it('prints JSON as the service returned it', async () => {
    const { stdout } = await list(page, '--json')
    expect(JSON.parse(stdout).messages).to.deep.equal(page)
  })

  it('pages by time if messages have no ID, and says so if they have no time either', async () => {
    const withoutIds = page.map(({ id: _, ...rest }) => rest)
    expect((await list(withoutIds)).stderr).to.contain(`--before ${page[2]?.created_at}\n`)
    await server.close()
    expect((await list([{ content: 'x', role: 'user' }])).stderr).to.contain('no message has an id or a time')
  })
})
