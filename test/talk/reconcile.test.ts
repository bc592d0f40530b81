import { expect } from 'chai'
import type { Message } from '../../src/contract/completion.ts'
import { reconcile } from '../../src/talk/resume/reconcile.ts'

const conversation = (length: number, name: string): Message[] =>
  Array.from({ length }, (_, index) => ({
    role: index % 2 === 0 ? 'user' : 'assistant',
    content: `${name} ${index}`,
  }))

describe('a conversation of which there are two accounts', () => {
  it('loses nothing of a long one that only the service has', () => {
    const remote = conversation(1000, 'said')
    const merged = reconcile(remote.slice(-4), remote, true)
    expect(merged.map(({ message }) => message)).to.deep.equal(remote)
    expect(merged.filter(({ mark }) => mark === 'none')).to.have.length(4)
  })

  it('loses nothing of a long one that only this machine has', () => {
    const local = conversation(1000, 'said')
    const merged = reconcile(local, local.slice(-20), false)
    expect(merged.map(({ message }) => message)).to.deep.equal(local)
    expect(merged.every(({ mark }) => mark === 'none')).to.equal(true)
  })
})
