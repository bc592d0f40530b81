import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { perTest } from '../../support/lifetime.ts'
import { binary } from '../../support/run-chatctl.ts'
import { runProgram } from '../../support/run-program.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { describeSample } from '../../support/take-sample.ts'

/** Reserved for documentation (RFC 5737). In this test, an address of a network namespace without other machines. */
const other = '192.0.2.2'

describeSample('localhost', 1, () => {
  const sandbox = perTest(createSandbox)

  for (const args of [['chat', 'models'], ['auth', 'status'], ['doctor']]) {
    it(`is this machine, whatever /etc/hosts says: ${args.join(' ')}`, async () => {
      const hosts = join(sandbox.home, 'hosts')
      const script = join(sandbox.home, 'serve.mjs')
      writeFileSync(hosts, `${other} localhost\n`)
      writeFileSync(script, server(args))
      const isolate = [
        'ip link set lo up',
        `ip addr add ${other}/32 dev lo`,
        `mount --bind '${hosts}' /etc/hosts`,
        `exec '${process.execPath}' "$0"`,
      ].join(' && ')
      const program = ['unshare', '-mn', 'sh', '-c', isolate, script] as const
      const run = await runProgram(sandbox, [], { program, env: { PATH: process.env['PATH'] } })
      expect(run.stderr).to.equal('')
      const addresses: string[] = JSON.parse(run.stdout)
      expect(new Set(addresses)).to.deep.equal(new Set(['127.0.0.1']))
    })
  }
})

/** Listens on every address of the namespace, runs chatctl, and prints the addresses that it has used. */
function server(args: readonly string[]): string {
  return `
    import { spawn } from 'node:child_process'
    import { createServer } from 'node:http'
    const addresses = []
    const server = createServer((_, response) => {
      response.setHeader('content-type', 'application/json').end('{"data":[]}')
    })
    server.on('connection', ({ localAddress }) => addresses.push(localAddress))
    server.listen(0, '0.0.0.0', () => {
      const env = { ...process.env, CHATCTL_API_KEY: 'k', CHATCTL_BASE_URL: 'http://localhost:' + server.address().port }
      const args = ${JSON.stringify([binary, ...args])}
      spawn(process.execPath, args, { env, stdio: 'ignore' }).on('close', () => {
        process.stdout.write(JSON.stringify(addresses))
        process.exit()
      })
    })`
}
