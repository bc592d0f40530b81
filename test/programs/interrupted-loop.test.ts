import { expect } from 'chai'
import { perSuite } from '../support/lifetime.ts'
import { binary } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import { silent, startScriptedServer } from '../support/scripted-server.ts'
import { until } from '../support/until.ts'
import { Tmux } from './tmux.ts'

describe('Ctrl-C in a loop of a shell', () => {
  const sandbox = perSuite(createSandbox)
  const server = perSuite(() => startScriptedServer(silent))

  for (const shell of ['bash', 'sh']) {
    it(`ends the loop too: ${shell}`, async () => {
      const send = `'${process.execPath}' '${binary}' chat send hi --base-url ${server.url}`
      const loop = `for round in 1 2 3; do echo "round $round"; ${send}; echo "went on"; done`
      const env = { CHATCTL_API_KEY: 'some-key' }
      const before = server.requests.length
      const terminal = await Tmux.run(sandbox, [shell, '-c', loop], { env })
      try {
        await until(() => server.requests.length > before, 20_000)
        await terminal.key('C-c')
        expect(await terminal.exitCode()).to.equal(130)
        const screen = await terminal.screen()
        expect(screen).to.contain('round 1')
        expect(screen).not.to.match(/went on|round 2/)
      } finally {
        await terminal.close()
      }
    })
  }
})
