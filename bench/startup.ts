import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Bound, type Figure, measureInTurn, program, ratio, serve, usageOf } from './measure.ts'

const models = JSON.stringify({ data: [{ id: 'm', created: 0, object: 'model', owned_by: 'bench' }] })

/** Makes the request of `chat models`, and prints the response. */
const script = `require('node:http').get(process.argv[1] + '/v1/chat/models', {
  headers: { authorization: 'Bearer bench' },
}, (response) => response.pipe(process.stdout))`

const bare = 'bare Node'
const bounds: Readonly<Record<string, Bound | undefined>> = {
  '--version': { most: 1.03 },
  '--help': { most: 1.1 },
  'node:http': undefined,
  'chat models --json': { most: 2.3 },
  'chat models --json, first run': { most: 2.5 },
  'chat send Hello': { most: 2.8 },
  'chat send Hello, first run': { most: 4.5 },
}

/** The CPU time of whole processes relative to `node -e 0`. */
export async function benchStartup(rounds: number): Promise<Figure[]> {
  const home = mkdtempSync(join(tmpdir(), 'chatctl-bench-'))
  const server = await serve((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(models)
  })
  const list = [program, 'chat', 'models', '--json', '--base-url', server.url]
  const send = [program, 'chat', 'send', 'Hello', '--profile', 'local']
  const commands: Readonly<Record<string, readonly string[]>> = {
    [bare]: ['-e', '0'],
    '--version': [program, '--version'],
    '--help': [program, '--help'],
    'node:http': ['-e', script, server.url],
    'chat models --json': list,
    'chat models --json, first run': list,
    'chat send Hello': send,
    'chat send Hello, first run': send,
  }
  try {
    const used = await measureInTurn(Object.keys(commands), { rounds, warmUps: 2 }, (name) => {
      const own = name.endsWith('first run') ? mkdtempSync(join(home, 'new-')) : home
      return usageOf(commands[name] ?? [], {
        PATH: process.env['PATH'],
        HOME: own,
        CHATCTL_API_KEY: 'bench',
      })
    })
    const cpuOf = (name: string) => used[name]?.cpu ?? Number.NaN
    return Object.entries(bounds).map(([name, bound]) =>
      ratio(`CPU of ${name}, of ${bare}`, 'ms', cpuOf(name), cpuOf(bare), bound),
    )
  } finally {
    server.close()
    rmSync(home, { recursive: true, force: true })
  }
}
