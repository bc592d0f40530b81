import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { Agent, fetch } from 'undici'
import { startService } from '../../src/service/start-service.ts'
import { readEvents } from '../service/read-events.ts'
import { sendDelta, sendDone, startEvents, withUpstream } from '../service/scripted-upstream.ts'
import { equip, withDirectory } from '../service/temporary-service.ts'
import { makeCertificate } from '../support/certificate.ts'
import { freePort } from '../support/free-port.ts'

const program = process.env['NGINX_PROGRAM'] ?? '/usr/sbin/nginx'

/** The server block in docs/guides/host-the-service.md. */
const documented = /```nginx\n([\s\S]*?)```/.exec(
  readFileSync(new URL('../../docs/guides/host-the-service.md', import.meta.url), 'utf8'),
)?.[1]

/** nginx with the configuration of docs/guides/host-the-service.md, with other ports and files. */
async function startNginx(
  directory: string,
  service: string,
): Promise<{ url: string; ca: string; nginx: ChildProcess }> {
  const { cert, key } = makeCertificate('127.0.0.1')
  writeFileSync(join(directory, 'tls.crt'), cert)
  writeFileSync(join(directory, 'tls.key'), key)
  const port = await freePort()
  const block = (documented ?? '')
    .replace('127.0.0.1:8787', new URL(service).host)
    .replace(/listen 443 ssl/, `listen 127.0.0.1:${port} ssl`)
    .replace(/listen \[::\]:443.*\n/, '\n')
    .replace(/ssl_certificate .*;/, `ssl_certificate ${join(directory, 'tls.crt')};`)
    .replace(/ssl_certificate_key .*;/, `ssl_certificate_key ${join(directory, 'tls.key')};`)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${join(directory, name)};`,
  )
  const file = join(directory, 'nginx.conf')
  writeFileSync(
    file,
    `daemon off; worker_processes 1; pid ${join(directory, 'pid')}; error_log stderr;
    ${process.getuid?.() === 0 ? 'user root;' : ''}
    events {} http { access_log off; ${temporary.join(' ')} ${block} }`,
  )
  const nginx = spawn(program, ['-c', file, '-p', directory], { stdio: ['ignore', 'ignore', 'inherit'] })
  nginx.on('error', () => {})
  const url = `https://127.0.0.1:${port}`
  const dispatcher = new Agent({ connect: { ca: cert } })
  for (let tries = 0; tries < 100; tries++) {
    const answer = await fetch(`${url}/healthz`, { dispatcher }).catch(() => undefined)
    if (answer?.status === 200) break
    await pause(50)
  }
  await dispatcher.close()
  return { url, ca: cert, nginx }
}

describe('the service behind nginx, as docs/guides/host-the-service.md configures it', () => {
  it('streams without delay, notices clients that disconnect, and shows the public URL on its page', () => {
    let finish = () => {}
    let canceled = 0
    return withUpstream(
      (response) => {
        startEvents(response)
        sendDelta(response, 'first')
        response.once('close', () => {
          canceled += response.writableFinished ? 0 : 1
        })
        finish = () => {
          sendDelta(response, ' second', 'stop')
          sendDone(response)
        }
      },
      (upstream) =>
        withDirectory(async (directory) => {
          const options = { behindProxy: true, upstream: { url: upstream.url } }
          const service = equip(await startService({ dataDir: join(directory, 'data'), ...options }))
          const { url, ca, nginx } = await startNginx(directory, service.url)
          const dispatcher = new Agent({ connect: { ca } })
          const leaving = new AbortController()
          const open = (signal?: AbortSignal) =>
            fetch(`${url}/api/chat/send`, {
              dispatcher,
              method: 'POST',
              headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' },
              body: JSON.stringify({ message: 'x', model: 'm', stream: true }),
              ...(signal && { signal }),
            }) as unknown as Promise<Response>
          try {
            const page = await (
              await fetch(url, { dispatcher, headers: { 'x-forwarded-host': 'evil.example' } })
            ).text()
            expect(page).to.include(`--base-url ${url}<`)
            const events = readEvents(await open())
            // The model has sent nothing more yet, so nginx did not buffer this event.
            expect((await events.next()).value).to.deep.include({ event: 'delta' })
            finish()
            await events.next()
            expect((await events.next()).value).to.deep.include({ event: 'done' })
            const left = readEvents(await open(leaving.signal))
            await left.next()
            leaving.abort()
            for (let tries = 0; tries < 100 && canceled === 0; tries++) await pause(20)
            expect(canceled).to.equal(1)
            const large = await fetch(`${url}/api/chat/send`, {
              dispatcher,
              method: 'POST',
              headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' },
              body: JSON.stringify({ message: 'x'.repeat(4_500_000) }),
            })
            expect(large.status).to.equal(413)
          } finally {
            const ended = once(nginx, 'exit')
            nginx.kill('SIGTERM')
            await ended
            await dispatcher.close()
            await service.close()
          }
        }),
    )
  })
})
