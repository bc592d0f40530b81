import { expect } from 'chai'
import fc from 'fast-check'
import { reconcile, type TimedMessage } from '../../../src/chat/resume/earlier-messages.ts'
import type { Message } from '../../../src/contract/resources/completion.ts'

const conversation = (length: number, name: string): TimedMessage[] =>
  Array.from({ length }, (_, index) => ({
    message: { role: index % 2 === 0 ? 'user' : 'assistant', content: `${name} ${index}` },
  }))
const messagesOf = (said: readonly { message: Message }[]) => said.map(({ message }) => message)
/** A message at a time, and its reply. */
const exchange = (content: string, at?: number): TimedMessage[] => [
  { message: { role: 'user', content }, at },
  { message: { role: 'assistant', content: `re ${content}` }, at },
]
const questions = (said: readonly { message: Message }[]) =>
  messagesOf(said).flatMap(({ role, content }) => (role === 'user' ? [content] : []))

describe('merging the history of the service with the transcript', () => {
  it('keeps all of a long conversation that only the service has in full', () => {
    const remote = conversation(1000, 'said')
    const merged = reconcile(remote.slice(-4), remote, true)
    expect(messagesOf(merged)).to.deep.equal(messagesOf(remote))
    expect(merged.filter(({ difference }) => difference === 'none')).to.have.length(4)
  })

  it('keeps all of a long conversation that only this machine has in full', () => {
    const local = conversation(1000, 'said')
    const merged = reconcile(local, local.slice(-20), false)
    expect(messagesOf(merged)).to.deep.equal(messagesOf(local))
    expect(merged.every(({ difference }) => difference === 'none')).to.equal(true)
  })

  it('puts older messages of the service before the messages that only this machine has', () => {
    const local = [...exchange('new', 30), ...exchange('newer', 40)]
    const merged = reconcile(local, [...exchange('old', 10), ...exchange('older page', 20)], false)
    expect(questions(merged)).to.deep.equal(['old', 'older page', 'new', 'newer'])
    expect(merged.slice(-4).every(({ difference }) => difference === 'here')).to.equal(true)
  })

  it('orders newer messages of the service by time, and keeps replies after their messages', () => {
    const shared = exchange('shared', 1)
    const local = [...shared, ...exchange('here', 20)]
    const [asked, answered] = exchange('elsewhere', 10)
    const remote = [
      ...shared,
      asked as TimedMessage,
      { ...(answered as TimedMessage), at: 25 },
      ...exchange('later', 30),
    ]
    const merged = reconcile(local, remote, true)
    expect(questions(merged)).to.deep.equal(['shared', 'elsewhere', 'here', 'later'])
    expect(messagesOf(merged)[3]).to.deep.equal(answered?.message)
  })

  it('puts a history without times and without common messages before the local messages', () => {
    expect(questions(reconcile(exchange('here'), exchange('there'), true))).to.deep.equal(['there', 'here'])
  })

  it('contains each message once, in the order of each source', () => {
    const account = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 6 })
    const timed = fc.boolean()
    fc.assert(
      fc.property(account, account, timed, timed, fc.boolean(), (here, there, isDated, areDated, isWhole) => {
        const say = (names: string[], dated: boolean) =>
          names.flatMap((name, index) => exchange(name, dated ? index : undefined))
        const merged = reconcile(say(here, isDated), say(there, areDated), isWhole)
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
