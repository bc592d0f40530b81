import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startSecretService } from '../test/programs/keychain/secret-service.ts'
import { createSandbox } from '../test/support/sandbox.ts'
import { type BoundedFigure, type Program, timeInTurn } from './measure.ts'

const binary = fileURLToPath(new URL('../bin/run.js', import.meta.url))
const keyring = fileURLToPath(new URL('../node_modules/@napi-rs/keyring/index.js', import.meta.url))
const models = JSON.stringify({ data: [{ id: 'm', created: 0, object: 'model', owned_by: 'bench' }] })

const apiKey = { version: 1, kind: 'api_key', key: 'bench-key' }
const tokenSet = {
  version: 1,
  kind: 'oauth',
  access_token: 'bench-token',
  token_type: 'bearer',
  refresh_token: 'bench-refresh',
  obtained_at: new Date().toISOString(),
  expires_at: new Date(Date.now() + 86_400_000).toISOString(),
  client_id: 'bench',
  issuer: 'https://login.example',
  token_endpoint: 'https://login.example/oauth/token',
}

/**
 * Measures the cost of a credential from a real Secret Service, relative to the same command with the
 * key in the environment. Requires dbus-daemon, gnome-keyring-daemon, and secret-tool.
 */
export async function benchSignedIn(rounds: number): Promise<BoundedFigure[]> {
  const sandbox = createSandbox()
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(models)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const secrets = await startSecretService(sandbox)
  const env = { ...sandbox.env, ...secrets.env }
  try {
    writeProfiles(sandbox.home, url)
    for (const [profile, credential] of [
      ['key', apiKey],
      ['token', tokenSet],
    ] as const) {
      const item = ['store', '--label', profile, 'service', `chatctl:${url}`, 'username', profile]
      secrets.secretTool(item, JSON.stringify(credential))
    }
    const node = (name: string, code: string): Program => ({
      name,
      command: process.execPath,
      args: ['-e', code],
      env,
    })
    const call = (name: string, profile: string, more = {}): Program => ({
      name,
      command: process.execPath,
      args: [binary, 'chat', 'models', '--json', '--profile', profile],
      env: { ...env, ...more },
    })
    const programs: Program[] = [
      node('node -e 0', '0'),
      node('import the module', `require(${JSON.stringify(keyring)})`),
      call('key in environment', 'key', { CHATCTL_API_KEY: 'bench-key' }),
      call('key in keychain', 'key'),
      call('token in keychain', 'token'),
    ]
    return report(await timeInTurn(programs, rounds), rounds)
  } finally {
    await secrets.close()
    server.close()
    sandbox.remove()
  }
}

function writeProfiles(home: string, url: string): void {
  const directory = join(home, '.config', 'chatctl')
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const profiles = { key: { base_url: url }, token: { base_url: url } }
  writeFileSync(join(directory, 'config.json'), JSON.stringify({ profiles }), { mode: 0o600 })
}

function report(medians: Map<string, number>, rounds: number): BoundedFigure[] {
  const of = (name: string): number => medians.get(name) ?? Number.NaN
  const loading = of('import the module') - of('node -e 0')
  process.stdout.write(
    `a signed-in command, median of ${rounds} rounds in turn, Node ${process.versions.node}\n`,
  )
  for (const [name, ms] of medians) {
    const ratio = (ms / of('key in environment')).toFixed(2)
    process.stdout.write(
      `${name.padEnd(20)} ${ms.toFixed(1).padStart(7)} ms  ${ratio} of the key in the environment\n`,
    )
  }
  return ['key in keychain', 'token in keychain'].map((name) => {
    const added = of(name) - of('key in environment')
    process.stdout.write(`${name} adds ${(added / loading).toFixed(1)} of what importing its module costs\n`)
    const value = of(name) / of('key in environment')
    return { name: `${name}, of the key in the environment`, value, bound: { most: 1.35 } }
  })
}
