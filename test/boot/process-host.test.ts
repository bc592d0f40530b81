import { expect } from 'chai'
import { hasDisplay } from '../../src/boot/process-host.ts'
import { watchSignals } from '../../src/boot/watch-signals.ts'
import { perTest } from '../support/lifetime.ts'

describe('hasDisplay', () => {
  for (const [env, platform, expected] of [
    [{}, 'linux', false],
    [{ DISPLAY: ':0' }, 'linux', true],
    [{ WAYLAND_DISPLAY: 'wayland-0' }, 'linux', true],
    [{ WSL_DISTRO_NAME: 'Debian' }, 'linux', true],
    [{ DISPLAY: '' }, 'freebsd', false],
    [{}, 'darwin', true],
    [{}, 'win32', true],
    [{ SSH_CONNECTION: '192.0.2.1 5000 192.0.2.2 22' }, 'darwin', false],
    [{ SSH_CONNECTION: 'x', DISPLAY: 'localhost:10.0' }, 'linux', false],
    [{ BROWSER: 'w3m' }, 'linux', true],
    [{ BROWSER: 'w3m', SSH_CONNECTION: 'x' }, 'linux', true],
  ] as const)
    it(`is ${expected} on ${platform} with ${JSON.stringify(env)}`, () =>
      expect(hasDisplay(env, platform)).to.equal(expected))
})

const signals = ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGBREAK'] as const

describe('the signals of a process on Windows', () => {
  const watched = perTest(
    () => {
      const before = new Map(signals.map((signal) => [signal, process.listeners(signal)]))
      let interrupts = 0
      const watch = watchSignals('win32')
      watch.takeSignal('SIGINT', () => interrupts++)
      return { watch, before, interrupts: () => interrupts }
    },
    ({ before }) => {
      for (const signal of signals) {
        for (const listener of process.listeners(signal))
          if (!before.get(signal)?.includes(listener)) process.off(signal, listener)
      }
    },
  )

  it('include Ctrl-Break, which means the same as Ctrl-C', () => {
    process.emit('SIGBREAK')
    expect(watched.interrupts()).to.equal(1)
  })

  it('reach the handlers of this process when it raises one for a key', () => {
    watched.watch.raise('SIGINT')
    expect(watched.interrupts()).to.equal(1)
  })

  it('are not raised for keys that only other systems have', () => {
    watched.watch.raise('SIGTSTP')
    watched.watch.raise('SIGQUIT')
    expect(watched.interrupts()).to.equal(0)
  })
})
