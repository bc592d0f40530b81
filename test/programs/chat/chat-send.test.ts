import { expect } from 'chai'
import { ChatHandler } from '../../support/handlers/chat.ts'
import { perTest } from '../../support/lifetime.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { serveHandler } from '../../support/scripted-server.ts'
import { Tmux } from '../tmux.ts'

describe('chat send in a terminal', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(() => serveHandler(new ChatHandler()))
  const opened: Tmux[] = []
  afterEach(() => Promise.all(opened.splice(0).map((terminal) => terminal.close())))

  const send = async (columns: number): Promise<Tmux> => {
    const env = { CHATCTL_BASE_URL: server.url, CHATCTL_API_KEY: 'some-key' }
    const terminal = await Tmux.start(sandbox, ['chat', 'send', 'Hi'], { columns, env })
    opened.push(terminal)
    return terminal
  }

  it('counts the seconds of the wait, and then shows only the rendered reply', async () => {
    const text = ['**Bold** words', ' and more\n\n| a | b |\n|---|---|\n| 1 | 2 |\n']
    const answer = server.answerNext({ text, held: true })
    const terminal = await send(40)
    expect(await terminal.waitFor('Waiting for the reply… 1 s')).to.match(/^. Waiting for the reply… 1 s$/)
    answer.release(1)
    await terminal.waitFor('Bold')
    expect(await terminal.settle(300)).to.equal('Bold')
    answer.release()
    expect(await terminal.exitCode()).to.equal(0)
    expect(await terminal.scrollback()).to.match(/^Bold words and more\n\na +│ b\n─+┼─+\n1 +│ 2$/)
    expect(await terminal.styledScreen()).to.match(/^␛\[1mBold/)
  })

  it('leaves an empty screen if the wait is interrupted', async () => {
    server.answerNext({ text: 'Hello', held: true })
    const terminal = await send(40)
    await terminal.waitFor('Waiting for the reply…')
    await terminal.key('C-c')
    expect(await terminal.exitCode()).to.equal(130)
    expect(await terminal.scrollback()).to.equal('')
  })

  it('ends the line of a reply that is interrupted', async () => {
    const answer = server.answerNext({ text: ['Half a ', 'reply'], held: true })
    const terminal = await send(20)
    answer.release(1)
    await terminal.waitFor('Half')
    await terminal.key('C-c')
    expect(await terminal.exitCode()).to.equal(130)
    expect(await terminal.scrollback()).to.match(/^Half(\^C)? a$|^Half(\^C)?\n? a$|^Half a(\^C)?$/)
    expect(await terminal.cursor()).to.deep.equal({ row: 1, column: 0 })
  })
})
