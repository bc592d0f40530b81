import { expect } from 'chai'
import { plainStyle } from '../../../src/terminal/markdown/text-style.ts'
import { perTest } from '../../support/lifetime.ts'
import { sse } from '../../support/scripted-server.ts'
import { SteppedClock } from '../../support/stepped-clock.ts'
import { until } from '../../support/until.ts'
import { type SessionRun, SessionWorld } from './session-run.ts'

const reasoning = ['They greet me.\n', 'I greet them, ', 'too.']
const thought = { reasoning, text: ['Hello ', 'you'] }
const prompt = /^>$/m

describe('a session with a model that sends reasoning', () => {
  const world = perTest(() => SessionWorld.open())
  let run: SessionRun
  const begin = async (given: Parameters<SessionWorld['run']>[1] = {}) => {
    run = await world.run(undefined, given)
  }

  it('says that the model is thinking, and for how long, until the reply begins', async () => {
    const clock = new SteppedClock()
    await begin({ clock })
    const reply = world.server.answerNext({ ...thought, held: true })
    run.terminal.type('Hi\r')
    await reply.begun
    reply.release(1)
    await run.terminal.waitFor(/^Thinking…$/m)
    clock.pass(12_000)
    run.terminal.resize(79)
    await run.terminal.waitFor(/^Thinking… 12 s$/m)
    reply.release()
    const screen = await run.terminal.waitFor(/^Hello you\n[\s\S]*total/m)
    expect(screen).to.match(/ · thought 12s · first 12s ·\s+total 12s/)
    expect(screen).not.to.include('Thinking').and.not.to.include('greet')
  })

  it('shows the reasoning before the reply after /reasoning on, and hides it after /reasoning off', async () => {
    await begin()
    await run.say('/reasoning on', 'Reasoning is shown before each reply, if the model sends it')
    await run.say('/info', /^reasoning +shown$/m)
    world.server.answerNext(thought)
    const screen = await run.say('Hi', /total[\s\S]*^>$/m)
    expect(screen).to.match(/^> Hi\n\n│ They greet me\.\n│ I greet them, too\.\n\nHello you\n/m)
    await run.say('/reasoning off', 'Reasoning is hidden')
    world.server.answerNext({ ...thought, text: 'Hello again' })
    const later = await run.say('Hi', /^Hello again$[\s\S]*total/m)
    expect(later.match(/They greet me/g)).to.have.length(1)
  })

  it('dims the reasoning, and shows it while it arrives', async () => {
    const dim = (text: string) => `<${text}>`
    await begin({ style: { ...plainStyle, dim, reverse: (text) => text } })
    await run.say('/reasoning on', 'Reasoning is shown')
    const reply = world.server.answerNext({ ...thought, held: true })
    run.terminal.type('Hi\r')
    await reply.begun
    reply.release(1)
    await run.terminal.waitFor(/^<│> <They greet me\.>\n[\s\S]*<Thinking…/m)
    reply.release()
    await run.terminal.waitFor(/^<│> <I greet them,>< too\.>\n\nHello you$/m)
  })

  it('says with --plain what is reasoning, and shows none by default', async () => {
    await begin({ isPlain: true })
    world.server.answerNext(thought)
    expect(await run.say('Hi', /^Hello you$[\s\S]*total/m)).not.to.match(/greet|Thinking/)
    await run.say('/reasoning on', 'Reasoning is shown')
    world.server.answerNext({ ...thought, text: 'Hello again' })
    await run.say(
      'Hi',
      /^\[reasoning\]\nThey greet me\.\nI greet them, too\.\n\[end of reasoning\]\nHello again$/m,
    )
  })

  it('records the reasoning apart from the reply, and never sends it', async () => {
    await begin()
    world.server.answerNext(thought)
    await run.say('Hi', /total[\s\S]*^>$/m)
    await run.say('/system be brief', 'system: be brief')
    world.server.answerNext({ reasoning: ['Brief, then.'], text: 'Bye' })
    await run.say('And?', /^Bye$[\s\S]*total/m)
    await run.say('Last', /You said: Last/)
    const { turns, conversation } = world.transcript()
    expect(turns.map(({ reasoning, reply }) => ({ reasoning, reply }))).to.deep.equal([
      { reasoning: reasoning.join(''), reply: 'Hello you' },
      { reasoning: 'Brief, then.', reply: 'Bye' },
      { reasoning: undefined, reply: 'You said: Last' },
    ])
    expect(JSON.stringify(conversation, ['role', 'content'])).not.to.match(/greet|Brief, then/)
    expect(JSON.stringify(world.server.requests)).not.to.match(/greet|Brief, then/)
    await run.leave()
    run = await world.resume()
    expect(await run.terminal.text())
      .to.include('Bye')
      .and.not.to.include('Brief, then')
  })

  it('returns the message if Ctrl-C stops the model while it is thinking', async () => {
    await begin()
    const reply = world.server.answerNext({ ...thought, held: true })
    run.terminal.type('Hi\r')
    await reply.begun
    reply.release(2)
    await run.terminal.waitFor('Thinking…')
    await until(async () => world.transcript().turns[0]?.reasoning === 'They greet me.\nI greet them, ')
    run.terminal.type('\u0003')
    await run.terminal.waitFor(/\[stopped while the model was thinking\][\s\S]*^> Hi$/m)
    await reply.abandoned
    expect(world.transcript().turns[0]).to.include({ reply: '', status: 'interrupted' })
    run.terminal.type('\r')
    await run.terminal.waitFor('You said: Hi')
  })

  it('says that a reply is empty if the model sends only reasoning', async () => {
    await begin()
    world.server.answerNext({ reasoning, text: [] })
    await run.say('Hi', /\[the model sent only reasoning, and no reply\]\n[\s\S]*total[\s\S]*^>$/m)
    expect(world.transcript().turns[0]).to.include({ reply: '', status: 'complete' })
  })

  it('sends a prompt whose reply is empty again, together with the next one', async () => {
    await begin()
    await run.say('/system be brief', 'system: be brief')
    await run.say('One', /^You said: One$[\s\S]*total/m)
    world.server.answerNext({ reasoning, text: '' })
    await run.say('Two', /only reasoning[\s\S]*total/)
    await run.say('Three', /^You said: Two\n\n?Three$/m)
    expect(world.server.completions.at(-1)?.messages?.map(({ content }) => content)).to.deep.equal([
      'be brief',
      'One',
      'You said: One',
      'Two\n\nThree',
    ])
  })

  it('shows a reply from the history if the stream was truncated while the model was thinking', async () => {
    await begin()
    world.server.answerNext({ reasoning, text: [], ending: 'reset', finishLater: 'Hello from the history' })
    await run.say(
      'Hi',
      /\[truncated while the model was thinking: [\s\S]*^Hello from the history$[\s\S]*total/m,
    )
    expect(world.transcript().turns[0]).to.include({
      reply: 'Hello from the history',
      reasoning: reasoning.join(''),
      status: 'unverified',
    })
  })

  it('returns the message if the history has no reply either, and /continue sends nothing', async () => {
    await begin()
    world.server.answerNext({ reasoning, text: [], ending: 'reset' })
    await run.say('Hi', /\[truncated while the model was thinking: [\s\S]*^> Hi$/m)
    run.terminal.type('\u0015')
    await run.terminal.waitFor(prompt)
    await run.say('/continue', /No part of the last reply has arrived[\s\S]*\/retry/)
    await run.say('/retry', /^You said: Hi$/m)
    expect(world.server.sends.map(({ message }) => message)).to.deep.equal(['Hi', 'Hi'])
  })

  it('returns the message if the service reports an error while the model is thinking', async () => {
    await begin()
    const error = { code: 'model_server_error', message: 'Out of memory' }
    world.server.failNext(sse([{ context_id: 'c1', reasoning: 'Hm' }, { error }], { done: false }))
    await run.say('Hi', /Out of memory[\s\S]*^> Hi$/m)
    expect(world.transcript().turns[0]).to.include({ reply: '', reasoning: 'Hm', status: 'truncated' })
  })

  it('records reasoning between two parts of a reply, and does not show it within the reply', async () => {
    await begin()
    await run.say('/reasoning on', 'Reasoning is shown')
    const [before, within] = [{ reasoning: 'One' }, { reasoning: ' two' }]
    const frames = [before, { delta: 'Hello' }, { delta: ' ' }, within, { delta: 'you' }]
    // All in one chunk, so that the session has no time to record the pieces one by one.
    const data = [{ context_id: 'c1' }, ...frames].map((frame) => `data: ${JSON.stringify(frame)}\n\n`)
    world.server.failNext((_, response) => {
      const type = { 'content-type': 'text/event-stream' }
      response.writeHead(200, type).end(`${data.join('')}data: [DONE]\n\n`)
    })
    const screen = await run.say('Hi', /^│ One\n\nHello you\n[\s\S]*total/m)
    expect(screen).not.to.include('two')
    const [turn] = world.transcript().turns
    expect(turn).to.include({ reasoning: 'One two', reply: 'Hello you' })
    expect(turn?.events.slice(1).map(({ v: _, ...event }) => event)).to.deep.equal([
      { type: 'reasoning', text: 'One' },
      { type: 'delta', text: 'Hello' },
      { type: 'delta', text: ' ' },
      { type: 'reasoning', text: ' two' },
      { type: 'delta', text: 'you' },
    ])
  })
})
