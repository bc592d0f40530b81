import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { Agent, fetch } from 'undici'
import { makeCertificate } from '../../support/certificate.ts'
import { freePort } from '../../support/free-port.ts'
import { until } from '../../support/until.ts'

/** A reverse proxy on loopback, with TLS. */
export interface ReverseProxy {
  url: string
  /** Trusts its certificate. */
  dispatcher: Agent
  /** Whether it sends requests to a process, by its position. */
  sendsTo(index: number): Promise<boolean>
  close(): Promise<void>
}

/** A file of docs/guides/host-the-service with the addresses of services. */
function documented(name: string, services: readonly string[]): string {
  const file = new URL(`../../../docs/guides/host-the-service/${name}`, import.meta.url)
  const [first = '', second = first] = services.map((service) => new URL(service).host)
  return readFileSync(file, 'utf8').replace('127.0.0.1:8787', first).replace('127.0.0.1:8788', second)
}

/** nginx with docs/guides/host-the-service/nginx.conf, with other addresses and files. */
export async function startNginx(directory: string, services: readonly string[]): Promise<ReverseProxy> {
  const { cert, key } = makeCertificate('127.0.0.1')
  writeFileSync(join(directory, 'tls.crt'), cert)
  writeFileSync(join(directory, 'tls.key'), key)
  const port = await freePort()
  const block = documented('nginx.conf', services)
    .replace(/listen 443 ssl/, `listen 127.0.0.1:${port} ssl`)
    .replace(/ssl_certificate .*;/, `ssl_certificate ${join(directory, 'tls.crt')};`)
    .replace(/ssl_certificate_key .*;/, `ssl_certificate_key ${join(directory, 'tls.key')};`)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${join(directory, name)};`,
  )
  const file = join(directory, 'nginx.conf')
  writeFileSync(
    file,
    `daemon off; worker_processes 1; pid ${join(directory, 'pid')}; error_log ${join(directory, 'log')};
    ${process.getuid?.() === 0 ? 'user root;' : ''}
    events {} http { access_log off; ${temporary.join(' ')} ${block} }`,
  )
  const program = process.env['NGINX_PROGRAM'] ?? '/usr/sbin/nginx'
  const nginx = spawn(program, ['-c', file, '-p', directory], { stdio: ['ignore', 'ignore', 'inherit'] })
  return ready(nginx, port, cert, async () => true)
}

/** HAProxy with docs/guides/host-the-service/haproxy.cfg, with other addresses and files. */
export async function startHaproxy(directory: string, services: readonly string[]): Promise<ReverseProxy> {
  const { cert, key } = makeCertificate('127.0.0.1')
  writeFileSync(join(directory, 'haproxy.pem'), `${cert}\n${key}`)
  const port = await freePort()
  const rest = documented('haproxy.cfg', services).replace(
    /bind :443 ssl crt .*/,
    `bind 127.0.0.1:${port} ssl crt ${join(directory, 'haproxy.pem')}`,
  )
  const [file, control] = [join(directory, 'haproxy.cfg'), join(directory, 'control')]
  writeFileSync(file, `global\n  stats socket ${control}\n${rest}`)
  const haproxy = spawn('/usr/sbin/haproxy', ['-db', '-q', '-f', file], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  return ready(haproxy, port, cert, async (index) => {
    const socket = connect(control)
    socket.write('show stat\n')
    const name = ['one', 'two'][index]
    return (await text(socket))
      .split('\n')
      .some((line) => line.startsWith(`chatctl,${name},`) && /,UP,/.test(line))
  })
}

async function ready(
  program: ChildProcess,
  port: number,
  ca: string,
  sendsTo: ReverseProxy['sendsTo'],
): Promise<ReverseProxy> {
  program.on('error', () => {})
  const url = `https://127.0.0.1:${port}`
  const dispatcher = new Agent({ connect: { ca } })
  await until(
    async () => (await fetch(`${url}/healthz`, { dispatcher }).catch(() => undefined))?.status === 200,
  )
  return {
    url,
    dispatcher,
    sendsTo,
    async close() {
      await dispatcher.destroy()
      const ended = once(program, 'exit')
      program.kill('SIGTERM')
      await ended
    },
  }
}
