import { expect } from 'chai'
import { commands } from '../../support/manifest.ts'

describe('other users of the machine', () => {
  it('see no secret in the process list, because no flag takes a secret as its value', () => {
    const flags = commands.flatMap(({ id, flags }) =>
      Object.values(flags).map((flag) => ({ name: `${id} --${flag.name}`, type: flag.type })),
    )
    const secret = flags.filter(({ name }) => /password|secret|token\b|key\b/.test(name.split('--')[1] ?? ''))
    expect(secret.length).to.be.above(5)
    // Paths, addresses, and commands that print a secret are not secret.
    const open = /-(file|url|command)$|tls-key$|^plan:approve --key$/
    const taken = secret.filter(({ name, type }) => type === 'option' && !open.test(name))
    expect(taken.map(({ name }) => name)).to.deep.equal([])
  })
})
