import { createPrivateKey } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { Agent, fetch } from 'undici'
import { hintOf } from '../../../src/cli/errors/hints.ts'
import { Failure } from '../../../src/contract/failure.ts'
import { openAdministration } from '../../../src/service/administration/administration.ts'
import { issuerOf, readExposure } from '../../../src/service/http/listening/exposure.ts'
import { Readiness } from '../../../src/service/http/public/public-routes.ts'
import { type ServiceOptions, startService } from '../../../src/service/start-service.ts'
import { openSqlite } from '../../../src/service/store/sqlite/open-sqlite.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { makeCertificate } from '../../support/certificate.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { closing, perTest } from '../../support/lifetime.ts'
import { sendJson, withModelServer } from '../../support/model-server.ts'
import { runChatctl, startChatctl } from '../../support/run-chatctl.ts'
import { makeKey } from '../../support/run-service.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { json, startScriptedServer } from '../../support/scripted-server.ts'
import { SteppedClock } from '../../support/stepped-clock.ts'
import { until } from '../../support/until.ts'
import { createTestServer } from '../start-server.ts'
import { caller, equip, withDirectory, withService } from '../temporary-service.ts'
import { readResponses, sendBytes } from './raw-request.ts'

/** Writes a certificate for 127.0.0.1 and its key to files. */
function writeCertificate(directory: string, name = 'own') {
  const { cert, key } = makeCertificate('127.0.0.1')
  const [certFile, keyFile] = [join(directory, `${name}.crt`), join(directory, `${name}.key`)]
  writeFileSync(certFile, cert)
  writeFileSync(keyFile, key, { mode: 0o600 })
  return { certFile, keyFile, cert, key }
}

const failureOf = (options: ServiceOptions): Promise<Failure> =>
  startService(options).then(
    async (service) => {
      await service.close()
      throw new Error('it started')
    },
    (error) => error,
  )

describe('a service that other machines can reach', () => {
  it('is refused without TLS or a proxy, and the hint names both', () =>
    withDirectory(async (dataDir) => {
      for (const host of ['0.0.0.0', '::', '192.0.2.1', 'chat.example']) {
        const failure = await failureOf({ dataDir, host })
        expect(failure).to.be.instanceOf(Failure).and.include({ kind: 'usage' })
        expect(hintOf(failure)).to.include('--tls-cert').and.include('--behind-proxy')
      }
    }))

  it('is accepted behind a proxy, or with a certificate', () =>
    withDirectory(async (dataDir) => {
      const tls = writeCertificate(dataDir)
      // Checked without a start, because tests listen on loopback only.
      expect(readExposure('0.0.0.0', { behindProxy: true })).to.include({ behindProxy: true })
      expect(readExposure('0.0.0.0', { tls }).tls?.cert.toString()).to.include('BEGIN CERTIFICATE')
    }))

  it('offers the sign-in only if it knows the URL that browsers use', () =>
    withDirectory(async (dataDir) => {
      const status = async (options: Partial<ServiceOptions>) => {
        const service = await startService({ dataDir, ...options })
        const answers = []
        for (const path of ['/.well-known/oauth-authorization-server', '/account'])
          answers.push((await fetch(service.url + path, { redirect: 'manual' })).status)
        await service.close()
        return answers
      }
      expect(await status({ behindProxy: true })).to.deep.equal([404, 404])
      expect(await status({ behindProxy: true, publicUrl: 'https://chat.example' })).to.deep.equal([200, 303])
      expect(await status({})).to.deep.equal([200, 303])
      const alone = { tls: undefined, behindProxy: false, publicUrl: undefined, logsAddresses: true }
      expect(issuerOf(alone, 'https://0.0.0.0:8787')).to.equal(undefined)
      expect(issuerOf(alone, 'https://[::]:8787')).to.equal(undefined)
      expect(issuerOf(alone, 'https://192.0.2.1:8787')).to.equal('https://192.0.2.1:8787')
      expect(issuerOf({ ...alone, publicUrl: 'https://a.example' }, 'https://0.0.0.0:1')).to.equal(
        'https://a.example',
      )
    }))

  it('accepts only an HTTPS origin as its public URL', () =>
    withDirectory(async (dataDir) => {
      for (const publicUrl of [
        'chat.example',
        'http://chat.example',
        'https://u:p@chat.example',
        'https://a/b',
        'https://a/?x',
      ])
        expect(await failureOf({ dataDir, publicUrl }), publicUrl).to.include({ kind: 'refused' })
    }))
})

describe('TLS', () => {
  it('uses the given certificate for pages, streams, and the status, and tells browsers to use no plain HTTP', () =>
    withDirectory(async (dataDir) => {
      const { certFile, keyFile, cert } = writeCertificate(dataDir)
      const tls = { certFile, keyFile }
      await using service = closing(
        equip(await startService({ dataDir, tls, announce: {}, version: '1.2.3' })),
      )
      const dispatcher = new Agent({ connect: { ca: cert } })
      const authorization = `Bearer ${service.key}`
      const page = await fetch(`${service.url}/`, { dispatcher })
      expect(await page.text()).to.include(`--base-url ${service.url}<`)
      const settings = await fetch(`${service.url}/v1/settings`, { dispatcher, headers: { authorization } })
      expect(settings.status).to.equal(200)
      const sent = await fetch(`${service.url}/api/chat/send`, {
        dispatcher,
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify({ message: 'x', stream: true }),
      })
      expect(await sent.text()).to.include('event: done')
      const account = await fetch(`${service.url}/account`, { dispatcher, redirect: 'manual' })
      const unknown = await fetch(`${service.url}/v1/none`, { dispatcher, method: 'POST' })
      for (const { url, headers } of [page, settings, sent, account, unknown])
        expect(headers.get('strict-transport-security'), url).to.equal('max-age=31536000')
      const plain = await fetch(service.url.replace('https', 'http')).catch((error) => error.cause.code)
      expect(plain).not.to.equal(200)
      await using administration = closing(await openAdministration({ dataDir }))
      const { running } = await administration.status()
      expect(running).to.include({ url: service.url, health: 'ready' })
      await dispatcher.close()
    }))

  it('uses a renewed certificate and a new key for the model server after SIGHUP, and no invalid ones', () =>
    withModelServer(
      (response) => sendJson(response, { data: [] }),
      async (modelServer) => {
        using sandbox = createSandbox()
        const { certFile, keyFile, cert } = writeCertificate(sandbox.home)
        const modelServerKey = join(sandbox.home, 'model-server.key')
        writeFileSync(modelServerKey, 'first', { mode: 0o600 })
        const tls = ['--tls-cert', certFile, '--tls-key', keyFile]
        const model = ['--model-server', modelServer.url, '--model-server-key-file', modelServerKey]
        const running = startChatctl(sandbox, ['service', 'run', '--port', '0', '--json', ...tls, ...model])
        const [ready] = await once(running.stdout, 'data')
        const { url } = JSON.parse(String(ready))
        const authorization = `Bearer ${await makeKey(sandbox)}`
        const accepts = async (ca: string) => {
          const dispatcher = new Agent({ connect: { ca } })
          const asked = fetch(`${url}/v1/chat/models`, { dispatcher, headers: { authorization } })
          const status = await asked.then(
            (response) => response.status,
            () => 'untrusted',
          )
          await dispatcher.close()
          return [status, modelServer.requests.at(-1)?.headers.authorization]
        }
        const reload = async (message: string) => {
          running.interrupt('SIGHUP')
          await until(() => running.written().stderr.includes(message))
        }
        expect(await accepts(cert)).to.deep.equal([200, 'Bearer first'])
        const renewed = writeCertificate(sandbox.home)
        writeFileSync(modelServerKey, 'two keys')
        await reload('must contain exactly one key')
        expect(await accepts(cert)).to.deep.equal([200, 'Bearer first'])
        writeFileSync(modelServerKey, 'second')
        await reload('"reloaded"')
        expect(await accepts(renewed.cert)).to.deep.equal([200, 'Bearer second'])
        expect((await accepts(cert))[0]).to.equal('untrusted')
        running.interrupt('SIGTERM')
        expect(await running.ended).to.include({ exitCode: 0 })
      },
    ))

  it('reports invalid certificate and key files before the service listens', () =>
    withDirectory(async (dataDir) => {
      const { certFile, keyFile, key } = writeCertificate(dataDir)
      const other = writeCertificate(dataDir, 'other')
      const file = (name: string, content: string) => {
        writeFileSync(join(dataDir, name), content)
        return join(dataDir, name)
      }
      const notAPair = 'are not a PEM certificate and its private key'
      const cipher = { cipher: 'aes-256-cbc', passphrase: 'x' }
      const locked = String(createPrivateKey(key).export({ type: 'pkcs8', format: 'pem', ...cipher }))
      for (const [tls, words] of [
        [{ certFile: join(dataDir, 'none'), keyFile }, 'none: no such file or directory (ENOENT)'],
        [
          { certFile, keyFile: dataDir },
          `Cannot read the private key file ${dataDir}: it is a directory (EISDIR)`,
        ],
        [{ certFile: file('empty', ''), keyFile }, notAPair],
        [{ certFile, keyFile: certFile }, notAPair],
        [{ certFile, keyFile: file('locked', locked) }, notAPair],
        [{ certFile, keyFile: other.keyFile }, notAPair],
      ] as const) {
        const failure = await failureOf({ dataDir, tls })
        expect(failure, words).to.be.instanceOf(Failure).and.include({ kind: 'config' })
        expect(failure.message).to.include(words)
        expect(`${failure.message}${hintOf(failure)}`).not.to.include('BEGIN')
      }
    }))
})

describe('service run in a terminal', () => {
  it('exits with code 129 after SIGHUP, because the terminal was closed', async () => {
    using sandbox = createSandbox()
    const running = startChatctl(sandbox, ['service', 'run', '--port', '0'], { terminal: { columns: 80 } })
    while (!running.written().stdout.includes('http://')) await once(running.stdout, 'data')
    running.interrupt('SIGHUP')
    expect(await running.ended).to.include({ exitCode: 129 })
  })
})

describe('the log of the service', () => {
  it('contains the address of a client only behind a proxy, and only as the proxy reports it', async function () {
    this.timeout(30_000)
    const log = async (...flags: string[]) => {
      const sandbox = createSandbox()
      const running = startChatctl(sandbox, ['service', 'run', '--port', '0', ...flags])
      const { url } = JSON.parse(String((await once(running.stdout, 'data'))[0]))
      const headers = { 'x-forwarded-for': '203.0.113.9, not an address, 203.0.113.7' }
      await (await fetch(`${url}/x`, { headers })).text()
      await (await fetch(`${url}/y`, { headers: { 'x-forwarded-for': 'evil"\tname' } })).text()
      running.interrupt()
      const answered = (await running.ended).stderr
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
        .filter(({ path }) => path === '/x' || path === '/y')
      sandbox.remove()
      return answered.map(({ address }) => address)
    }
    expect(await log()).to.deep.equal([undefined, undefined])
    expect(await log('--behind-proxy')).to.deep.equal(['203.0.113.7', undefined])
  })

  it('is JSON together with stdout, unless an output format was chosen, and has the public URL', async () => {
    const ready = async (...flags: string[]) => {
      const sandbox = createSandbox()
      const run = ['service', 'run', '--port', '0', '--public-url', 'https://chat.example', ...flags]
      const running = startChatctl(sandbox, run)
      await once(running.stdout, 'data')
      running.interrupt()
      const { stdout, stderr } = await running.ended
      sandbox.remove()
      return { stdout, first: stderr.split('\n', 1)[0] ?? '' }
    }
    const { stdout, first } = await ready()
    const { url, public_url } = JSON.parse(first)
    expect({ public_url }).to.deep.equal({ public_url: 'https://chat.example' })
    expect(JSON.parse(stdout)).to.include({ url, public_url })
    expect((await ready('-o', 'tsv')).stdout).to.match(/^http:\S+\t/)
    expect((await ready('--log-level', 'silent')).stdout).to.match(/^http:\S+\n$/)
  })
})

describe('when a service on this machine uses another database', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(() => startScriptedServer({ choose: () => json(200, { status: 'ready' }) }))
  const place = 'postgres://db.example:5432/chat'
  const run = (...args: string[]) => runChatctl(sandbox, args)
  const data = () => join(sandbox.home, '.local/share/chatctl')

  beforeEach(() => {
    mkdirSync(data(), { recursive: true, mode: 0o700 })
    const record = { url: server.url, pid: process.pid, place }
    writeFileSync(join(data(), `running-${process.pid}.json`), JSON.stringify(record))
  })

  it('a command that would change the default database is refused, and the error names both', async () => {
    const set = await run('settings', 'set', 'app_name=Changed', '--profile', 'local')
    expectFailure(set, 2, place, join(data(), 'chatctl.db'), `chatctl auth login --base-url ${server.url}`)
    expectFailure(await run('service', 'keys', 'create', '--name', 'x'), 2, `--database ${place}`)
  })

  it('doctor names the database of the service and does not fail', async () => {
    await openSqlite(data()).close()
    const { exitCode, stdout } = await run('doctor', '-o', 'json')
    expect(exitCode, stdout).to.equal(0)
    const checks: { check: string; status: string; message: string; hint: string }[] = JSON.parse(stdout)
    const found = checks.find(({ check }) => check === 'data')
    expect(found?.status).to.equal('warning')
    expect(found?.message).to.contain(server.url).and.to.contain(place)
    expect(found?.hint).to.equal(`Use that service with: chatctl auth login --base-url ${server.url}`)
  })
})

describe('a request without a key', () => {
  it('can read whether the service is alive and ready', () =>
    withService(async ({ url }) => {
      const stranger = caller(url, undefined)
      expect(await stranger('GET', '/healthz')).to.deep.include({ status: 200, body: { status: 'ok' } })
      const ready = await stranger('GET', '/readyz?x=1')
      expect(ready).to.deep.include({ status: 200, body: { status: 'ready' } })
      expect(ready.headers.get('cache-control')).to.equal('no-store')
      expect(ready.headers.get('x-request-id')).to.match(/^req_/)
      // An invalid key makes no difference here.
      expect((await caller(url, 'ck_wrong')('GET', '/readyz')).status).to.equal(200)
      const refused = await stranger('POST', '/readyz', {})
      expect(refused.status).to.equal(405)
      expect(refused.headers.get('allow')).to.equal('GET, HEAD')
    }))

  it('can read nothing else, and the service port has no metrics', () =>
    withService(
      async ({ url, call }) => {
        expect((await caller(url, undefined)('GET', '/metrics')).status).to.equal(404)
        expect((await call('GET', '/metrics')).status).to.equal(404)
        for (const path of [
          '//healthz',
          '/healthz/',
          '/v1/healthz',
          '/readyz/../v1/settings',
          '/v1/settings',
        ])
          expect((await caller(url, undefined)('GET', path)).status, path).to.be.oneOf([401, 404])
      },
      { admin: { port: 0 } },
    ))

  it('can read why the service is not ready', () =>
    withDirectory(async (directory) => {
      const store = openSqlite(directory)
      const readiness = new Readiness(store.db, systemClock)
      const server = createTestServer({ store, dataDir: directory, readiness })
      const stranger = caller(await server.listen({ host: '127.0.0.1', port: 0 }), undefined)
      expect((await stranger('GET', '/readyz')).status).to.equal(200)
      readiness.stop()
      const stopping = await stranger('GET', '/readyz')
      expect(stopping.status).to.equal(503)
      expect(stopping.body.error.code).to.equal('service_stopping')
      expect((await stranger('GET', '/')).status).to.equal(503)
      expect((await stranger('GET', '/')).text).to.include('Not ready')
      expect((await stranger('GET', '/healthz')).status).to.equal(200)
      await server.close()
      await store.close()
      expect((await new Readiness(store.db, systemClock).check())?.code).to.equal('internal_error')
    }))

  it('can read it after 2 s if another program locks the database, and that the lock has ended', () =>
    withDirectory(async (directory) => {
      await using store = closing(openSqlite(directory))
      const other = new DatabaseSync(store.location)
      other.exec('begin immediate')
      const clock = new SteppedClock()
      const failures: unknown[] = []
      const readiness = new Readiness(store.db, clock, (error) => failures.push(error.code))
      for (let round = 0; round < 2; round++) {
        expect((await clock.run(readiness.check()))?.code).to.equal('storage_unavailable')
        expect(clock.monotonic()).to.equal(2_000)
      }
      other.close()
      await until(async () => (await readiness.check()) === undefined)
      expect(failures).to.deep.equal(['storage_unavailable'])
    }))
})

describe('the status page', () => {
  it('shows how to connect to the requested host, without scripts or external resources', () =>
    withService(
      async ({ url, key }) => {
        const { status, headers, text } = await caller(url, undefined)('GET', '/')
        expect(status).to.equal(200)
        expect(headers.get('content-type')).to.equal('text/html; charset=utf-8')
        expect(headers.get('cache-control')).to.equal('no-store')
        expect(headers.get('content-security-policy')).to.match(/^default-src 'none'; style-src 'sha256-/)
        expect(text).to.include(`chatctl auth login --profile team \\\n  --base-url ${url}</code>`)
        expect(text).to.include('chatctl 1.2.3').and.include('Ready')
        expect(text).not.to.match(/<script|javascript:|\bon\w+=|src=|href="(?!\/account")|@import|url\(/i)
        expect(text).not.to.include(key)
        for (const accept of ['application/json', 'image/png', ''])
          expect((await caller(url, key)('GET', '/?a=b', undefined, { accept })).text).to.equal(text)
        const head = await caller(url, undefined)('HEAD', '/')
        expect(head).to.include({ status: 200, text: '' })
        expect(head.headers.get('content-length')).to.equal(String(Buffer.byteLength(text)))
      },
      { version: '1.2.3' },
    ))

  it('repeats a valid Host header, and no other', () =>
    withService(async ({ url }) => {
      const { port } = new URL(url)
      const shown = async (host: string) => {
        const { text } = await sendBytes(url, `GET / HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`)
        const [answer] = readResponses(text)
        return /--base-url (.*)<\/code>/.exec(answer?.body ?? '')?.[1]
      }
      expect(await shown('chat.example')).to.equal('http://chat.example')
      expect(await shown('Chat.Example:8080')).to.equal('http://chat.example:8080')
      expect(await shown('[::1]:99')).to.equal('http://[::1]:99')
      const invalid = [
        ...[
          'a"onload=x',
          '<b>',
          'a b',
          'a;rm -rf /',
          'a/b',
          'u@a',
          '$(id)',
          '`id`',
          'a:999999',
          '..',
          '%61',
          "a'b",
        ],
      ]
      for (const host of invalid)
        expect(await shown(host), host).to.be.oneOf([`http://127.0.0.1:${port}`, 'http://..'])
    }))

  it('prefers the public URL to what a proxy reports, and that to its own address', async () => {
    const forwarded = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'chat.example' }
    const shown = (options: object) =>
      withService(async ({ url }) => {
        const { text } = await caller(url, undefined)('GET', '/', undefined, forwarded)
        return /--base-url (.*)<\/code>/.exec(text)?.[1]?.replace(url, 'itself')
      }, options)
    expect(await shown({})).to.equal('itself')
    expect(await shown({ behindProxy: true })).to.equal('https://chat.example')
    expect(await shown({ behindProxy: true, publicUrl: 'https://other.example/' })).to.equal(
      'https://other.example',
    )
  })
})
