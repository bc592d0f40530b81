import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { perTest } from '../../support/lifetime.ts'
import { binary } from '../../support/run-chatctl.ts'
import { answer, failing, json, silent } from '../../support/scripted-server.ts'
import { describeSample } from '../../support/take-sample.ts'
import { until } from '../../support/until.ts'
import { TalkSession } from './talk-session.ts'

const continues = '/continue asks the model for the rest]'
const notNow = failing(403, 'forbidden', 'Not now')

describeSample('a session in an unusual situation', 2, () => {
  const talk = perTest(() => TalkSession.begin())

  /** Adds a conversation of 15 turns, as another client would. */
  const haveOldConversation = () => {
    for (let index = 1; index <= 15; index++) {
      talk.server.say('ctx_old', 'user', `question ${index}`)
      talk.server.say('ctx_old', 'assistant', `answer ${index}`)
    }
  }

  it('sends nothing if /continue is interrupted while it reads the history', async () => {
    talk.server.answerNext({ text: 'Half of ', ending: 'reset' })
    const terminal = await talk.chat()
    await terminal.say('Hello')
    await terminal.turn(continues)
    talk.server.faults.set('/api/chat/history', [silent])
    await terminal.ask('/continue', 'reading the history…')
    await terminal.key('C-c')
    await terminal.prompt()
    await terminal.settle()
    expect(talk.sent).to.deep.equal(['Hello'])
  })

  it('returns a message that begins with a slash so that Enter sends it again', async () => {
    talk.server.failNext(notNow)
    const terminal = await talk.chat()
    await terminal.ask('//etc is a directory', 'Error: Not now')
    await terminal.prompt('//etc is a directory')
    await terminal.key('Enter')
    await terminal.turn('You said: /etc is a directory')
  })

  it('returns queued messages in the order in which they were typed', async () => {
    const { terminal } = await talk.partOf(['Words ', 'more'])
    await terminal.ask('second', 'queued: second')
    await terminal.type('third')
    await terminal.waitFor('> third')
    await terminal.key('C-c')
    await terminal.prompt('second\nthird')
  })

  it('does not mistake an earlier reply to the same message for the rest of a truncated one', async () => {
    const terminal = await talk.chat()
    talk.server.answerNext('The one and only.')
    await terminal.converse('Again', 'The one and only.')
    const earlier = talk.server.history(talk.server.contexts[0])
    talk.server.answerNext({ text: 'The ', ending: 'reset' })
    talk.server.faults.set('/api/chat/history', [json(200, { messages: earlier, has_more: false })])
    await terminal.say('Again')
    expect(await terminal.turn(continues)).to.contain('this reply is not in the history')
  })

  it('records the completed reply with its turn, not with a later one', async () => {
    talk.server.answerNext({ text: 'Half ', ending: 'reset', finishLater: 'Half and half.' })
    talk.server.faults.set('/api/chat/history', [notNow])
    const terminal = await talk.chat()
    await terminal.say('Hello')
    await terminal.turn('asks the model for the rest]')
    talk.server.failNext(notNow)
    await terminal.say('Are you there?')
    await terminal.prompt('Are you there?')
    await terminal.key('C-u')
    await terminal.prompt()
    const id = await terminal.leave()
    const resumed = await talk.chat(['--resume', id])
    await resumed.waitFor('Half and half.')
    await resumed.leave()
    expect((await talk.turns(id)).map(({ answer, status }) => [answer, status])).to.deep.equal([
      ['Half and half.', 'unverified'],
      ['', 'failed'],
    ])
  })

  it('knows after a resume that only the service has the beginning of a conversation', async () => {
    haveOldConversation()
    const terminal = await talk.chat(['--context', 'ctx_old'])
    await terminal.converse('one more')
    const resumed = await talk.chat(['--resume', await terminal.leave()])
    await resumed.say('/retry')
    await resumed.turn('You said: one more')
    expect(talk.completed).to.have.length(31)
    expect(talk.completed[0]).to.equal('user: question 1')
  })

  it('returns an edited question if the conversation cannot be read', async () => {
    haveOldConversation()
    const terminal = await talk.chat(['--context', 'ctx_old'])
    await terminal.say('/edit')
    await terminal.prompt('question 15')
    talk.server.faults.set('/api/chat/history', [notNow])
    await terminal.ask(', please', 'Error: Not now')
    await terminal.prompt('question 15, please')
    await terminal.key('Enter')
    await terminal.turn('You said: question 15, please')
    expect(talk.completed).to.have.length(29)
  })

  it('does not mistake itself for another terminal', async () => {
    const terminal = await talk.chat()
    await terminal.converse('Hello')
    await terminal.ask('/resume ctx_1', 'is already open here')
    await terminal.converse('Still here')
    expect(talk.server.sends.at(-1)?.context_id).to.equal('ctx_1')
    await terminal.leave()
    expect((await talk.sessions()).map(({ turns }) => turns)).to.deep.equal([2])
  })

  it('continues a conversation with --context that a session has left', async () => {
    const terminal = await talk.chat()
    await terminal.converse('Hello')
    await terminal.converse('And then?')
    await terminal.command('/retry', 'this machine stores the conversation')
    await terminal.leave()
    const again = await talk.chat(['--context', 'ctx_1'])
    await again.converse('Go on')
    expect(talk.server.sends.at(-1)).to.include({ message: 'Go on', context_id: 'ctx_1' })
  })

  it('continues a conversation with --continue whose first reply was killed', async () => {
    const first = await talk.chat()
    await first.converse('An earlier conversation')
    await first.leave()
    const { terminal } = await talk.partOf(['Words ', 'more'])
    const sessions = join(talk.sandbox.home, '.local', 'share', 'chatctl', 'sessions')
    const transcripts = () => globSync(`${sessions}/*.jsonl`).map((path) => readFileSync(path, 'utf8'))
    await until(() => transcripts().some((text) => text.includes('ctx_2')))
    process.kill(await terminal.pid(), 'SIGKILL')
    await terminal.exitCode()
    const again = await talk.chat(['--continue'])
    await again.converse('Go on')
    expect(talk.server.sends.at(-1)?.context_id).to.equal('ctx_2')
  })

  it('draws nothing while another program uses the terminal', async () => {
    const done = join(talk.sandbox.home, 'done')
    const screen = "printf '\\033[H\\033[2JANOTHER PROGRAM'"
    const editor = talk.editor(`${screen}; until [ -e '${done}' ]; do sleep 0.1; done`)
    const terminal = await talk.chat([], { env: editor })
    await terminal.key('C-c')
    await terminal.waitFor('Ctrl-C again')
    await terminal.key('C-g')
    await terminal.waitFor('ANOTHER PROGRAM')
    // The hint disappears after 2 s.
    await sleep(2500)
    expect(await terminal.screen()).to.equal('ANOTHER PROGRAM')
    writeFileSync(done, '')
    await terminal.prompt()
  })

  it('exits 129 with an interrupted reply if the terminal is closed', async () => {
    const reply = talk.server.answerNext({ text: ['Words ', 'more'], held: true })
    const code = join(talk.sandbox.home, 'code')
    // The kernel sends SIGHUP only to the session leader, which usually is the shell, and that passes it on.
    const chat = `'${process.execPath}' '${binary}' chat </dev/tty & pid=$!`
    const line = `trap 'kill -HUP $pid' HUP; ${chat}; wait $pid; wait $pid; echo $? >'${code}'`
    const terminal = await talk.open(['sh', '-c', line])
    await terminal.prompt()
    await terminal.say('Hello')
    await reply.begun
    reply.release(1)
    await terminal.waitFor('Words')
    await terminal.close()
    await until(() => existsSync(code) && readFileSync(code, 'utf8') !== '')
    expect(readFileSync(code, 'utf8')).to.equal('129\n')
    const [turn, ...others] = await talk.turns()
    expect(turn).to.include({ answer: 'Words ', status: 'interrupted' })
    expect(others).to.deep.equal([])
  })

  it('keeps the conversation on this machine if the service returns no conversation ID', async () => {
    talk.server.failNext(answer(200, { 'content-type': 'text/plain' }, 'Hello yourself.'))
    const terminal = await talk.chat()
    await terminal.command('Hello', 'this machine stores the conversation')
    await terminal.ask('More', /> More[\s\S]*total/)
    expect(talk.completed).to.deep.equal(['user: Hello', 'assistant: Hello yourself.', 'user: More'])
  })
})
