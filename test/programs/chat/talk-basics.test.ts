import { expect } from 'chai'
import { perTest } from '../../support/lifetime.ts'
import { describeSample } from '../../support/take-sample.ts'
import { TalkSession } from './talk-session.ts'

describeSample('a session', 3, () => {
  const talk = perTest(() => TalkSession.begin())

  it('begins with its service, a hint for help, and a prompt', async () => {
    const terminal = await talk.chat()
    const screen = await terminal.screen()
    expect(screen).to.contain(talk.server.url).and.contain('/help')
    expect(talk.sent).to.deep.equal([])
    expect(await terminal.cursor()).to.deep.equal({ row: screen.split('\n').length - 1, column: 2 })
  })

  it('shows a reply as it arrives', async () => {
    const { terminal, answer } = await talk.partOf(['Good ', 'morning, ', 'Ada.'])
    expect(await terminal.screen()).not.to.contain('morning')
    answer.release(1)
    expect(await terminal.waitFor('Good morning,')).not.to.contain('Ada')
    answer.release()
    await terminal.turn('Good morning, Ada.')
    expect(talk.server.sends).to.deep.equal([{ message: 'Hello', stream: true }])
  })

  it('ends each turn with one dim line of model, tokens, and times, and the first one with the conversation', async () => {
    const usage = { prompt_tokens: 11, completion_tokens: 22, total_tokens: 33 }
    talk.server.answerNext({ text: 'With a count.', usage })
    const terminal = await talk.chat()
    expect(await terminal.converse('one', 'With a count.')).to.match(
      /^ {2}model-a · reply 22, conversation 33 tokens · first [\d.]+s · total [\d.]+s ·\n {2}conversation ctx_1$/m,
    )
    expect(await terminal.styledScreen()).to.match(/␛\[(0;)?2m\s*model-a · /)
    expect(await terminal.converse('two')).to.match(
      /^ {2}model-a · reply ~4, conversation ~8 tokens · first [\d.]+s · total [\d.]+s$/m,
    )
  })

  it('ends with Ctrl-D, and prints the number of turns and a command that resumes it', async () => {
    const terminal = await talk.chat()
    await terminal.converse('Remember the number 7')
    await terminal.converse('And the number 8')
    await terminal.key('C-d')
    expect(await terminal.exitCode()).to.equal(0)
    const farewell = /^2 turns: .*\nResume with: chatctl (chat --resume \S+)$/m.exec(await terminal.screen())
    expect(farewell, await terminal.screen()).not.to.equal(null)
    const resumed = await talk.start((farewell?.[1] ?? '').split(' '))
    expect(await resumed.prompt())
      .to.contain('Remember the number 7')
      .and.contain('You said: And the number 8')
    await resumed.converse('Which numbers?')
    expect(talk.server.sends.at(-1)).to.include({ message: 'Which numbers?', context_id: 'ctx_1' })
  })

  it('ends with the number of turns if there was one, and without it otherwise', async () => {
    const silent = await talk.chat()
    await silent.leave()
    expect(await silent.exitCode()).to.equal(0)
    expect(await silent.screen()).not.to.match(/turn|Resume with/)
    expect(await talk.sessions()).to.deep.equal([])
    const terminal = await talk.chat()
    await terminal.converse('one')
    await terminal.leave()
    expect(await terminal.screen()).to.match(/^1 turn: .*\nResume with: chatctl chat --resume \S+$/m)
  })

  it('uses the embedded service without any configuration', async () => {
    const terminal = await talk.chat([], { env: { CHATCTL_BASE_URL: '', CHATCTL_API_KEY: '' } })
    await terminal.command('Hello', /total [\d.]+s ·\s+conversation/)
    await terminal.leave()
    expect(await terminal.exitCode()).to.equal(0)
    expect(talk.server.requests).to.deep.equal([])
  })

  it('restores the terminal when it ends', async () => {
    const shell = await talk.shell()
    await shell.say('stty -g > before')
    await shell.say('"$NODE" "$CHATCTL" chat')
    await shell.prompt()
    await shell.converse('Hello')
    await shell.key('C-d')
    await shell.waitFor(/Resume with.*\n\$$/)
    await shell.ask('stty -g > after; cmp before after && echo same-modes', /^same-modes\n\$$/m)
    // With bracketed paste still enabled, the brackets would appear in the shell.
    await shell.paste('echo pasted-$((40+2))\n')
    expect(await shell.waitFor('pasted-42')).not.to.contain('200~')
  })

  it('stops with Ctrl-Z, and continues with the text in the prompt', async () => {
    const shell = await talk.shell()
    await shell.say('"$NODE" "$CHATCTL" chat')
    await shell.prompt()
    await shell.draft('half a sen')
    await shell.key('C-z')
    await shell.waitFor(/Stopped/)
    await shell.ask('echo in-the-shell-$((40+2)); fg', /in-the-shell-42[\s\S]*> half a sen$/)
    await shell.settle()
    await shell.type('tence')
    await shell.prompt('half a sentence')
    await shell.key('Enter')
    await shell.turn('You said: half a sentence')
  })
})
