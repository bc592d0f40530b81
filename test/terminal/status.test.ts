import { expect } from 'chai'
import { Status } from '../../src/terminal/screen/status.ts'
import { SteppedClock } from '../support/stepped-clock.ts'

describe('the status line', () => {
  const clock = new SteppedClock()
  const status = new Status(() => {}, clock)
  afterEach(() => status.clear())

  it('counts the seconds of a wait, starting after the first second', () => {
    status.showElapsed('thinking…')
    clock.pass(999)
    expect(status.text).to.equal('thinking…')
    clock.pass(1_001)
    expect(status.text).to.equal('thinking… 2 s')
  })

  it('counts down to the end of a wait, and not below zero', () => {
    status.showRemaining(2_500, (seconds) => `again in ${seconds} s`)
    expect(status.text).to.equal('again in 3 s')
    clock.pass(2_000)
    expect(status.text).to.equal('again in 1 s')
    clock.pass(2_000)
    expect(status.text).to.equal('again in 0 s')
  })

  it('does not change when the system clock is set', () => {
    status.showElapsed('thinking…')
    clock.set(clock.now() - 3_600_000)
    clock.pass(2_000)
    expect(status.text).to.equal('thinking… 2 s')
  })
})
