import { writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createSandbox } from '../test/support/sandbox.ts'
import { type Program, timeInTurn, untilExit } from './measure.ts'

const binary = fileURLToPath(new URL('../bin/run.js', import.meta.url))
const undici = new URL('../node_modules/undici/index.js', import.meta.url).href

/** The requests of `settings apply`: read for the plan, check for drift, change, read back. */
const bareScript = `
import { request } from ${JSON.stringify(undici)}
const url = process.env.CHATCTL_BASE_URL + '/v1/settings'
const headers = { authorization: 'Bearer bench-key', 'content-type': 'application/json' }
const read = async () => (await (await request(url, { headers })).body.json()).theme.mode
await read()
await read()
const patched = await request(url, { method: 'PATCH', headers, body: '{"theme":{"mode":"dark"}}' })
await patched.body.dump()
if (await read() !== 'dark') throw new Error('it did not take')`

/** Medians of whole processes in ms, and their ratio. */
export interface ApplyFigures {
  chatctl: number
  bareUndici: number
  ratio: number
}

/** `settings apply` of one change, relative to a bare script that makes the same requests. */
export async function measureApply(rounds: number): Promise<ApplyFigures> {
  const sandbox = createSandbox()
  const service = new SettingsService()
  const url = await service.start()
  const path = join(sandbox.home, 'settings.yaml')
  writeFileSync(path, 'theme:\n  mode: dark\n')
  const env = { ...sandbox.env, CHATCTL_BASE_URL: url, CHATCTL_API_KEY: 'bench-key' }
  const programs: Program[] = [
    { name: 'chatctl', command: process.execPath, args: [binary, 'settings', 'apply', path, '--yes'], env },
    { name: 'bare', command: process.execPath, args: ['--input-type=module', '-e', bareScript], env },
  ]
  try {
    const medians = await timeInTurn(programs, rounds, async (program) => {
      service.reset()
      const elapsed = await untilExit(program)
      // Both must send the same requests, or the ratio means nothing.
      const made = service.methods.join(' ')
      if (made !== 'GET GET PATCH GET') throw new Error(`${program.name} made the requests ${made}`)
      return elapsed
    })
    const [chatctl = Number.NaN, bareUndici = Number.NaN] = [medians.get('chatctl'), medians.get('bare')]
    return { chatctl, bareUndici, ratio: chatctl / bareUndici }
  } finally {
    service.close()
    sandbox.remove()
  }
}

class SettingsService {
  readonly #server: Server
  #mode = 'light'
  /** Requests since the last reset. */
  methods: string[] = []

  constructor() {
    this.#server = createServer((request, response) => {
      this.methods.push(request.method ?? '')
      if (request.method === 'PATCH') this.#mode = 'dark'
      request.resume().once('end', () => {
        response.writeHead(200, { 'content-type': 'application/json' }).end(
          JSON.stringify({
            app_name: 'Chat',
            theme: { primary_color: '#112233', mode: this.#mode },
            features: { chat: true, file_upload: false, code_completion: true },
            limits: { max_tokens: 4096, max_requests_per_min: 60 },
          }),
        )
      })
    })
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  reset(): void {
    this.#mode = 'light'
    this.methods = []
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}
