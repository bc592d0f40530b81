import { expect } from 'chai'
import fc from 'fast-check'
import { joinMessages } from '../../src/chat/earlier-messages.ts'
import type { Message } from '../../src/contract/resources/completion.ts'

const conversation = (length: number, name: string): Message[] =>
  Array.from({ length }, (_, index) => ({
    role: index % 2 === 0 ? 'user' : 'assistant',
    content: `${name} ${index}`,
  }))
const messagesOf = (said: readonly { message: Message }[]) => said.map(({ message }) => message)
const exchange = (content: string): Message[] => [
  { role: 'user', content },
  { role: 'assistant', content: `re ${content}` },
]
const questions = (said: readonly { message: Message }[]) =>
  messagesOf(said).flatMap(({ role, content }) => (role === 'user' ? [content] : []))

describe('merging the history of the service with the transcript', () => {
  it('keeps all of a long conversation that only the service has in full', () => {
    const remote = conversation(1000, 'said')
    const merged = joinMessages(remote.slice(-4), remote, true)
    expect(messagesOf(merged)).to.deep.equal(remote)
    expect(merged.filter(({ difference }) => difference === 'none')).to.have.length(4)
  })

  it('keeps all of a long conversation that only this machine has in full', () => {
    const local = conversation(1000, 'said')
    const merged = joinMessages(local, local.slice(-20), false)
    expect(messagesOf(merged)).to.deep.equal(local)
    expect(merged.every(({ difference }) => difference === 'none')).to.equal(true)
  })

  it('puts messages of the service before those of this machine only if nothing before is shared', () => {
    const merged = joinMessages([...exchange('new'), ...exchange('newer')], exchange('old'), false)
    expect(questions(merged)).to.deep.equal(['old', 'new', 'newer'])
    expect(merged.slice(-4).every(({ difference }) => difference === 'here')).to.equal(true)
    const shared = exchange('shared')
    const diverged = joinMessages([...shared, ...exchange('here')], [...shared, ...exchange('there')], true)
    expect(questions(diverged)).to.deep.equal(['shared', 'here', 'there'])
  })

  it('contains each message once, in the order of each source', () => {
    const account = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 6 })
    fc.assert(
      fc.property(account, account, fc.boolean(), (here, there, isWhole) => {
        const merged = joinMessages(here.flatMap(exchange), there.flatMap(exchange), isWhole)
        const ours = questions(merged.filter(({ difference }) => difference !== 'service'))
        expect(ours).to.deep.equal(here)
        const theirs = merged.filter(({ difference }) => difference === 'service').length
        const shared = merged.length - theirs - 2 * here.length
        expect(shared).to.equal(0)
        expect(merged.length).to.be.at.most(2 * (here.length + there.length))
      }),
      { seed: 17 },
    )
  })
})
