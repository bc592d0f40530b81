import { expect } from 'chai'
import { HeldCredential } from '../../../src/auth/credential-sources.ts'
import type { TemporaryCredential } from '../../../src/auth/credentials/credential-command.ts'
import { SteppedClock } from '../../support/stepped-clock.ts'

describe('a credential that is held in memory', () => {
  const makeHeld = (more: (clock: SteppedClock) => Partial<TemporaryCredential> = () => ({})) => {
    const clock = new SteppedClock()
    let made = 0
    const obtain = async () => ({ secret: `key-${++made}`, kind: null, ...more(clock) })
    return { clock, held: new HeldCredential(obtain, clock) }
  }

  it('is obtained with the first request, once for requests at the same time', async () => {
    const { held } = makeHeld()
    expect(held.current).to.equal(undefined)
    expect(await Promise.all([held.secret(), held.secret()])).to.deep.equal(['key-1', 'key-1'])
    expect(await held.secret()).to.equal('key-1')
    expect(held.current?.secret).to.equal('key-1')
  })

  it('is obtained again after a 401 only if it was obtained a minute before', async () => {
    const { clock, held } = makeHeld()
    await held.secret()
    clock.pass(59_999)
    expect(await held.secret('key-1')).to.equal('key-1')
    clock.pass(1)
    expect(await Promise.all([held.secret('key-1'), held.secret('key-1')])).to.deep.equal(['key-2', 'key-2'])
    expect(await held.secret('key-2')).to.equal('key-2')
    expect(await held.secret('key-1'), 'rejected before it was replaced').to.equal('key-2')
  })

  it('is obtained again when it is about to expire', async () => {
    const { clock, held } = makeHeld((clock) => ({
      obtained_at: new Date(clock.now()).toISOString(),
      expires_at: new Date(clock.now() + 600_000).toISOString(),
    }))
    await held.secret()
    clock.pass(539_999)
    expect(await held.secret()).to.equal('key-1')
    clock.pass(1)
    expect(await held.secret()).to.equal('key-2')
    expect(await held.secret()).to.equal('key-2')
  })
})
