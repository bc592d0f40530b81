import { getEventListeners } from 'node:events'
import { readdirSync } from 'node:fs'
import { PassThrough } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { expect } from 'chai'
import { hasDisplay } from '../../src/boot/process-host.ts'
import { watchSignals } from '../../src/boot/watch-signals.ts'
import type { Host } from '../../src/cli/host.ts'
import { hurriedClock } from '../client/capture.ts'
import { perTest } from '../support/lifetime.ts'
import { runChatctl, startChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import { startScriptedServer } from '../support/scripted-server.ts'
import { until } from '../support/until.ts'

const lines = [
  ...['chat send Hello', 'chat send Hello --stream --json', 'settings get', 'doctor', 'settings gett'],
  ...['settings set app_name=Example --profile local', 'users profile --jq .email', 'service status'],
  'users create --email a@example.com --generate-password --dry-run --profile local',
  ...['service keys list', 'history export', 'settings get --help'],
  'config set model test-program --profile work',
]

/** The number of open handles of the event loop, of file descriptors, and of listeners in this process. */
async function countOpen(): Promise<Map<string, number>> {
  // Node reports that a handle is closed one turn before it drops the handle.
  await turn()
  await turn()
  const counts = new Map<string, number>()
  for (const kind of process.getActiveResourcesInfo()) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  if (process.platform === 'linux') counts.set('descriptors', readdirSync('/proc/self/fd').length)
  for (const name of process.eventNames())
    counts.set(`listeners of ${String(name)}`, process.listenerCount(name))
  return counts
}

/** The kinds with more open handles than before. Timers of earlier runs may end in between. */
async function listLeft(before: Map<string, number>): Promise<string[]> {
  const left = [...(await countOpen())].filter(([kind, count]) => count > (before.get(kind) ?? 0))
  return left.map(([kind]) => kind)
}

describe('a run in a process with other runs', () => {
  const sandbox = perTest(createSandbox)

  for (const line of lines)
    it(`leaves nothing open: chatctl ${line}`, async () => {
      const words = line.split(' ')
      const [stdout, stderr] = [new PassThrough().resume(), new PassThrough().resume()]
      const { signal } = new AbortController()
      const host = { stdout, stderr, signal } as unknown as Partial<Host>
      // Modules stay loaded, and the embedded service creates its data once.
      const first = await runChatctl(sandbox, words, { host })
      const before = await countOpen()
      for (let run = 0; run < 2; run++)
        expect((await runChatctl(sandbox, words, { host })).exitCode).to.equal(first.exitCode)
      expect(await listLeft(before)).to.deep.equal([])
      expect(getEventListeners(signal, 'abort')).to.deep.equal([])
      for (const stream of [stdout, stderr]) expect(stream.listenerCount('error')).to.equal(0)
    })

  it('leaves nothing open if it is interrupted', async () => {
    const before = await countOpen()
    for (let run = 0; run < 2; run++) {
      await using server = await startScriptedServer(() => {})
      const running = startChatctl(sandbox, ['users', 'profile'], { service: server })
      await until(() => server.requests.length > 0)
      running.interrupt()
      expect((await running.ended).exitCode).to.equal(130)
    }
    expect(await listLeft(before)).to.deep.equal([])
  })

  it('exits 0 and ends its request if the reader of stdout closes it', async () => {
    let isOver = false
    await using server = await startScriptedServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: {"choices":[{"delta":{"content":"Hello"}}]}\n\n')
      response.once('close', () => {
        isOver = true
      })
    })
    let isTold = false
    const onReaderGone = () => {
      isTold = true
    }
    const options = { service: server, host: { onReaderGone } }
    const running = startChatctl(sandbox, ['chat', 'send', 'Hello', '--stream'], options)
    running.stdin.end()
    await until(() => running.written().stdout !== '')
    running.stdout.destroy(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))
    expect(await running.ended).to.deep.include({ exitCode: 0, stderr: '' })
    await until(() => isOver)
    expect(isTold).to.equal(true)
  })

  it('waits by the clock of its host', async () => {
    let isLimited = true
    await using server = await startScriptedServer((request, response) => {
      const status = isLimited ? 429 : 200
      isLimited = false
      response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '3600' })
      response.end(JSON.stringify({ id: request.path.split('/').at(-1), email: 'a@example.com' }))
    })
    const clock = hurriedClock()
    const args = 'users get u1 u2 --concurrency 1 --max-wait 2h --jq .[].id'.split(' ')
    const run = await runChatctl(sandbox, args, { service: server, host: { clock } })
    expect(run).to.include({ exitCode: 0, stdout: 'u1\nu2\n' })
    expect(Math.max(...clock.waits)).to.be.within(3_500_000, 3_700_000)
  })
})

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
