import { expect } from 'chai'
import { hasDisplay } from '../../src/boot/process-host.ts'

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
