import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { perTest } from '../../support/lifetime.ts'
import { binary } from '../../support/run-chatctl.ts'
import { failing, json, silent } from '../../support/scripted-server.ts'
import { describeSample } from '../../support/take-sample.ts'
import { Tmux } from '../tmux.ts'
import { converse, hasPrompt, promptOf, TalkSession, waitForTurn } from './talk-session.ts'

interface ShownSession {
  turns: { user: string; answer: string; status: string }[]
}

describeSample('a session in an unusual situation', 2, () => {
  const talk = perTest(() => TalkSession.begin())

  const leave = async (terminal: Tmux): Promise<string> => {
    await terminal.key('C-d')
    const [, id = ''] = /--resume (\S+)/.exec(await terminal.waitFor('--resume')) ?? []
    await terminal.exitCode()
    return id
  }
  const promptWith = (terminal: Tmux, text: string) =>
    terminal.waitUntil((screen) => promptOf(screen) === text, `"${text}" in the prompt`)

  it('sends nothing if /continue is interrupted while it reads the history', async () => {
    talk.server.answerNext({ text: 'Half of ', ending: 'reset' })
    const terminal = await talk.chat()
    await terminal.say('Hello')
    await waitForTurn(terminal, '/continue asks the model for the rest]')
    talk.server.faults.set('/api/chat/history', [silent])
    await terminal.say('/continue')
    await terminal.waitFor('reading the history…')
    await terminal.key('C-c')
    await terminal.waitUntil(hasPrompt, 'the prompt')
    await terminal.settle()
    expect(talk.server.sends.map(({ message }) => message)).to.deep.equal(['Hello'])
  })

  it('returns a message that begins with a slash so that Enter sends it again', async () => {
    talk.server.failNext(failing(403, 'forbidden', 'Not now'))
    const terminal = await talk.chat()
    await terminal.say('//etc is a directory')
    await terminal.waitFor('Error: Not now')
    await promptWith(terminal, '//etc is a directory')
    await terminal.key('Enter')
    await waitForTurn(terminal, 'You said: /etc is a directory')
  })

  it('returns queued messages in the order in which they were typed', async () => {
    const answer = talk.server.answerNext({ text: ['Words ', 'more'], held: true })
    const terminal = await talk.chat()
    await terminal.say('first')
    await answer.begun
    answer.release(1)
    await terminal.waitFor('Words')
    await terminal.say('second')
    await terminal.waitFor('queued: second')
    await terminal.type('third')
    await terminal.waitFor('> third')
    await terminal.key('C-c')
    await promptWith(terminal, 'second\nthird')
  })

  it('does not mistake an earlier reply to the same message for the rest of a truncated one', async () => {
    const terminal = await talk.chat()
    talk.server.answerNext('The one and only.')
    await converse(terminal, 'Again', 'The one and only.')
    const [context = ''] = talk.server.contexts
    const earlier = talk.server.history(context)
    talk.server.answerNext({ text: 'The ', ending: 'reset' })
    talk.server.faults.set('/api/chat/history', [json(200, { messages: earlier, has_more: false })])
    await terminal.say('Again')
    const screen = await waitForTurn(terminal, '/continue asks the model for the rest]')
    expect(screen).to.contain('this reply is not in the history')
  })

  it('records the completed reply with its turn, not with a later one', async () => {
    talk.server.answerNext({ text: 'Half ', ending: 'reset', finishLater: 'Half and half.' })
    talk.server.faults.set('/api/chat/history', [failing(403, 'forbidden', 'Not now')])
    const terminal = await talk.chat()
    await terminal.say('Hello')
    await waitForTurn(terminal, 'asks the model for the rest]')
    talk.server.failNext(failing(403, 'forbidden', 'Not now'))
    await terminal.say('Are you there?')
    await promptWith(terminal, 'Are you there?')
    await terminal.key('C-u')
    await terminal.waitUntil(hasPrompt, 'the prompt')
    const id = await leave(terminal)
    const resumed = await talk.chat(['--resume', id])
    await resumed.waitFor('Half and half.')
    await resumed.key('C-d')
    await resumed.exitCode()
    const { turns } = (await talk.json('chat', 'show', id)) as ShownSession
    expect(turns.map(({ answer, status }) => [answer, status])).to.deep.equal([
      ['Half and half.', 'unverified'],
      ['', 'failed'],
    ])
  })

  it('knows after a resume that only the service has the beginning of a conversation', async () => {
    for (let index = 1; index <= 15; index++) {
      talk.server.say('ctx_old', 'user', `question ${index}`)
      talk.server.say('ctx_old', 'assistant', `answer ${index}`)
    }
    const terminal = await talk.chat(['--context', 'ctx_old'])
    await converse(terminal, 'one more')
    const id = await leave(terminal)
    const resumed = await talk.chat(['--resume', id])
    await resumed.say('/retry')
    await waitForTurn(resumed, 'You said: one more')
    const [completion] = talk.server.completions
    expect(completion?.messages).to.have.length(31)
    expect(completion?.messages?.[0]?.content).to.equal('question 1')
  })

  it('returns an edited question if the conversation cannot be read', async () => {
    for (let index = 1; index <= 15; index++) {
      talk.server.say('ctx_old', 'user', `question ${index}`)
      talk.server.say('ctx_old', 'assistant', `answer ${index}`)
    }
    const terminal = await talk.chat(['--context', 'ctx_old'])
    await terminal.say('/edit')
    await promptWith(terminal, 'question 15')
    talk.server.faults.set('/api/chat/history', [failing(403, 'forbidden', 'Not now')])
    await terminal.say(', please')
    await terminal.waitFor('Error: Not now')
    await promptWith(terminal, 'question 15, please')
    await terminal.key('Enter')
    await waitForTurn(terminal, 'You said: question 15, please')
    expect(talk.server.completions[0]?.messages).to.have.length(29)
  })

  it('does not mistake itself for another terminal', async () => {
    const terminal = await talk.chat()
    await converse(terminal, 'Hello')
    await terminal.say('/resume ctx_1')
    await terminal.waitFor('is already open here')
    await converse(terminal, 'Still here')
    expect(talk.server.sends.at(-1)?.context_id).to.equal('ctx_1')
    await leave(terminal)
    const sessions = (await talk.json('chat', 'sessions')) as { turns: number }[]
    expect(sessions.map(({ turns }) => turns)).to.deep.equal([2])
  })

  it('continues a conversation with --context that a session has left', async () => {
    const terminal = await talk.chat()
    await converse(terminal, 'Hello')
    await converse(terminal, 'And then?')
    await terminal.say('/retry')
    await terminal.waitFor('this machine stores the conversation')
    await terminal.waitFor('this machine stores the conversation')
    await leave(terminal)
    const again = await talk.chat(['--context', 'ctx_1'])
    await converse(again, 'Go on')
    expect(talk.server.sends.at(-1)).to.include({ message: 'Go on', context_id: 'ctx_1' })
    await leave(again)
  })

  it('continues a conversation with --continue whose first reply was killed', async () => {
    const first = await talk.chat()
    await converse(first, 'An earlier conversation')
    await leave(first)
    const answer = talk.server.answerNext({ text: ['Words ', 'more'], held: true })
    const terminal = await talk.chat()
    await terminal.say('Hello')
    await answer.begun
    answer.release(1)
    await terminal.waitFor('Words')
    const remembered = join(talk.sandbox.home, '.local', 'state', 'chatctl', 'state', 'last-contexts.json')
    await until(() => readFileSync(remembered, 'utf8').includes('ctx_2'))
    process.kill(await terminal.pid(), 'SIGKILL')
    await terminal.exitCode()
    const again = await talk.chat(['--continue'])
    await converse(again, 'Go on')
    expect(talk.server.sends.at(-1)?.context_id).to.equal('ctx_2')
  })

  it('draws nothing while another program uses the terminal', async () => {
    const done = join(talk.sandbox.home, 'done')
    const editor = talk.editor(
      `printf '\\033[H\\033[2JANOTHER PROGRAM'; until [ -e '${done}' ]; do sleep 0.1; done`,
    )
    const terminal = await talk.chat([], { env: editor })
    await terminal.key('C-c')
    await terminal.waitFor('Ctrl-C again')
    await terminal.key('C-g')
    await terminal.waitFor('ANOTHER PROGRAM')
    // The hint disappears after 2 s.
    await sleep(2500)
    expect(await terminal.screen()).to.equal('ANOTHER PROGRAM')
    writeFileSync(done, '')
    await terminal.waitUntil(hasPrompt, 'the prompt')
  })

  it('exits 129 with an interrupted reply if the terminal is closed', async () => {
    const answer = talk.server.answerNext({ text: ['Words ', 'more'], held: true })
    const code = join(talk.sandbox.home, 'code')
    // The kernel sends SIGHUP only to the session leader, which usually is the shell, and that passes it on.
    const chat = `'${process.execPath}' '${binary}' chat </dev/tty & pid=$!`
    const line = `trap 'kill -HUP $pid' HUP; ${chat}; wait $pid; wait $pid; echo $? >'${code}'`
    const terminal = await Tmux.run(talk.sandbox, ['sh', '-c', line], { env: talk.env })
    await terminal.waitUntil(hasPrompt, 'the prompt')
    await terminal.say('Hello')
    await answer.begun
    answer.release(1)
    await terminal.waitFor('Words')
    await terminal.close()
    await until(() => existsSync(code) && readFileSync(code, 'utf8') !== '')
    expect(readFileSync(code, 'utf8')).to.equal('129\n')
    const [session] = (await talk.json('chat', 'sessions')) as { id: string }[]
    const { turns } = (await talk.json('chat', 'show', session?.id ?? '')) as ShownSession
    expect(turns).to.have.length(1)
    expect(turns[0]).to.include({ answer: 'Words ', status: 'interrupted' })
  })

  it('keeps the conversation on this machine if the service returns no conversation ID', async () => {
    talk.server.failNext((_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' })
      response.end('Hello yourself.')
    })
    const terminal = await talk.chat()
    await terminal.say('Hello')
    await terminal.waitFor('this machine stores the conversation')
    await terminal.waitUntil(hasPrompt, 'the prompt')
    await terminal.say('More')
    await terminal.waitFor(/> More[\s\S]*total/)
    const contents = talk.server.completions.at(-1)?.messages?.map(({ content }) => content)
    expect(contents).to.deep.equal(['Hello', 'Hello yourself.', 'More'])
  })
})

async function until(isSo: () => boolean): Promise<void> {
  for (let left = 500; !isSo() && left > 0; left--) await sleep(20)
}
