import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { continueExactly } from '../../../src/chat/conversation.ts'
import { perTest } from '../../support/lifetime.ts'
import { failing, json, sse } from '../../support/scripted-server.ts'
import { until } from '../../support/until.ts'
import { type SessionRun, SessionWorld } from './session-run.ts'

describe('a reply in a session', () => {
  const world = perTest(() => SessionWorld.open())
  let run: SessionRun
  beforeEach(async () => {
    run = await world.run()
  })

  const saved = async (name: string) => {
    const path = join(world.home, name)
    run.terminal.type(`/save ${path}\r`)
    await until(() => existsSync(path) && readFileSync(path, 'utf8') !== '')
    return readFileSync(path, 'utf8')
  }

  /** Sends a message, and interrupts the reply after its first piece. */
  const interruptAfter = async (first: string, rest: string) => {
    const reply = world.server.answerNext({ text: [first, rest], held: true })
    run.terminal.type('Hello\r')
    await reply.begun
    reply.release(1)
    // A word is shown when it is complete.
    await run.terminal.waitFor(/^The$/m)
    run.terminal.type('\u0003')
    await run.terminal.waitFor(/\[interrupted\][\s\S]*^>$/m)
  }

  it('is saved completely after /continue has requested its rest', async () => {
    await interruptAfter('The begin', 'ning')
    world.server.answerNext({ text: 'ning and the end.' })
    await run.say('/continue', /ning and the end\.[\s\S]*total/)
    expect(await saved('cut.md')).to.equal('The beginning and the end.\n')
    world.server.answerNext({ text: 'And an afterword.' })
    await run.say('/continue', /And an afterword\.[\s\S]*total/)
    expect(await saved('more.md')).to.equal('The beginning and the end.\n\nAnd an afterword.\n')
    await run.leave()
    run = await world.resume()
    expect(await saved('resumed.md')).to.equal('The beginning and the end.\n\nAnd an afterword.\n')
  })

  it('is requested from the model by /continue if the history has no more of it, as /continue says', async () => {
    await interruptAfter('The begin', 'ning')
    world.server.answerNext({ text: 'ning' })
    await run.say('/continue', /^ning$[\s\S]*total/m)
    expect(await run.terminal.text()).to.match(
      /^\[this reply is not in the history; asking the model for the rest\]$/m,
    )
    expect(world.server.sends.at(-1)?.message).to.equal(continueExactly)
    world.server.answerNext({ text: 'Half', ending: 'unmarked' })
    await run.say('Again', /^\[this reply is not in the history; \/continue asks the model for the rest\]$/m)
  })

  it('is said to be shorter in the history than on the screen, if the service has lost the end of it', async () => {
    world.server.answerNext({ text: 'The beginning', ending: 'reset', finishLater: 'The begin' })
    await run.say('Hello', /the history has less of this reply than was shown;[\s\S]*^>$/m)
    world.server.answerNext({ text: ' and the end.' })
    await run.say('/continue', /and the end\.[\s\S]*total/)
    expect(await saved('lost.md')).to.equal('The beginning and the end.\n')
  })

  it('that reached its token limit is continued where it stopped, also after it is resumed', async () => {
    for (const rest of ['ning', ' and the']) {
      world.server.answerNext({ text: 'The begin', finishReason: 'length' })
      await run.say('Hello', /stopped at the\s+token\s+limit[\s\S]*^>$/m)
      world.server.answerNext({ text: rest })
      await run.say('/continue', new RegExp(`^${rest.trim()}$[\\s\\S]*total`, 'm'))
      expect(world.server.sends.at(-1)?.message).to.equal(continueExactly)
    }
    expect(await run.leave()).not.to.include('has ended')
    expect(world.server.requestsOf('/api/chat/history').length).to.equal(0)
    run = await world.resume()
    world.server.answerNext({ text: 'The', finishReason: 'length' })
    await run.say('Hello', /stopped at the\s+token\s+limit[\s\S]*^>$/m)
    await run.leave()
    run = await world.resume()
    await run.say('/continue', /You said: Continue exactly[\s\S]*total/)
  })

  it('that is empty is reported as empty', async () => {
    world.server.answerNext({ text: [] })
    await run.say('Hello', /^\[the reply is empty\]$/m)
  })

  it('is exported to a file that must have a name and a known extension', async () => {
    await run.say('Hello', /total/)
    await run.say('/export', 'For example: /export session.md')
    await run.say('/export session', 'Use one of: .md, .txt, .json, .jsonl')
  })

  it('is searched for the code block that /copy names', async () => {
    world.server.answerNext('One:\n```\na\n```\nTwo:\n~~~\nb\n~~~')
    await run.say('Hello', /total/)
    await run.say('/copy 3', /contains 2 code blocks, so block 3 does not exist\nHint: {2}[\w ]+: \/copy$/m)
    await run.say('/copy first', /"first" is not the number of a code block, last, or all/)
    run.terminal.type('/copy \t')
    await run.terminal.waitFor(/\b1\b.*\b2\b.*\blast\b.*\ball\b/)
    run.terminal.type('\u0015')
    await run.say('/copy 2', 'Sent to the terminal')
    world.server.answerNext('No code.')
    await run.say('Again', /No code\.[\s\S]*total/)
    await run.say('/copy last', 'The reply contains no code block')
  })

  const words = 'CUDA out of memory'
  const details = { model_server_status: 500, model_server_message: words }
  const error = { code: 'model_server_error', message: 'The model server returned 500', details }

  it('that fails shows the message of the model server, also in the transcript', async () => {
    world.server.failNext(json(502, { error }))
    await run.say('Hello', /CUDA out\s+of\s+memory/)
    expect(world.transcript().turns[0]).to.include({ status: 'failed' })
    expect(world.transcript().turns[0]?.reason).to.contain(words)
  })

  it('that is interrupted shows the message of the model server, also in the transcript', async () => {
    world.server.failNext(sse([{ delta: 'Half' }, { error }], { done: false }))
    await run.say('Hello', words)
    expect(world.transcript().turns[0]?.reason).to.contain(words)
  })

  it('that fails puts its message back into the editor, where typing replaces it', async () => {
    world.server.failNext(failing(500, 'broken', 'Out of order'))
    await run.say('first', /Out of order[\s\S]*or type to replace it[\s\S]*^> first$/m)
    // Clearing the screen is not typing.
    run.terminal.type('\u000c')
    await run.say('second', 'You said: second')
    expect(world.server.sends.map(({ message }) => message)).to.deep.equal(['first', 'second'])
  })

  it('that fails puts its message back into the editor, to send with Enter or to edit', async () => {
    world.server.failNext(failing(500, 'broken', 'Out of order'))
    await run.say('first', /Out of order[\s\S]*^> first$/m)
    world.server.failNext(failing(500, 'broken', 'Still out of order'))
    await run.say('', /Still out of order[\s\S]*^> first$/m)
    await run.say('\u0005 and more', 'You said: first and more')
  })

  it('that fails does not overwrite text typed in the meantime', async () => {
    const reply = world.server.answerNext({ text: 'x', held: true, ending: 'reset' })
    run.terminal.type('/system be brief\r')
    await run.terminal.waitFor('system: be brief')
    run.terminal.type('first\r')
    await reply.begun
    run.terminal.type('second')
    await run.terminal.waitFor('> second')
    reply.release()
    await run.terminal.waitFor(/Send it again with: \/retry[\s\S]*^> second$/m)
    await run.say('', 'You said: second')
    expect(world.server.completions.at(-1)?.messages?.at(-1)?.content).to.equal('second')
  })

  it('that /retry failed to replace is not replaced by the reply to another message', async () => {
    await run.say('one', /You said: one[\s\S]*total/)
    await run.say('two', /You said: two[\s\S]*total/)
    world.server.failNext(failing(500, 'broken', 'Out of order'))
    await run.say('/retry', /Out of order[\s\S]*^> two$/m)
    await run.say('three', /You said: three[\s\S]*total/)
    expect(world.server.sends.at(-1)).to.include({ message: 'three', context_id: 'ctx_1' })
  })

  it('that /retry failed to replace is replaced by the next /retry', async () => {
    await run.say('one', /You said: one[\s\S]*total/)
    await run.say('two', /You said: two[\s\S]*total/)
    world.server.failNext(failing(500, 'broken', 'Out of order'))
    await run.say('/retry', /Out of order[\s\S]*^> two$/m)
    await run.say('/retry', /stored on this machine, not streamed[\s\S]*^>$/m)
    const asked = world.server.completions.at(-1)?.messages?.map(({ content }) => content)
    expect(asked).to.deep.equal(['one', 'You said: one', 'two'])
  })

  it('that was interrupted can still be continued after /continue has failed', async () => {
    await interruptAfter('The begin', 'ning')
    world.server.failNext(failing(500, 'broken', 'Out of order'))
    await run.say('/continue', /Out of order[\s\S]*^> Continue exactly/m)
    await run.say('/continue', /You said: Continue[\s\S]*total/)
    const asked = 'Continue exactly where your last reply stopped.'
    expect(world.server.sends.slice(1).map(({ message }) => message)).to.deep.equal([asked, asked])
  })
})
