import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { extractBaseSystem } from './base-system.ts'
import { type Image, packLayer } from './image-layout.ts'

const root = resolve(import.meta.dirname, '../..')

/** User ID and group ID of the service. A number, so that Kubernetes can check that it is not root. */
export const imageUser = 10001

/** The data directory of the service, and the home directory of its user. */
export const imageData = '/var/lib/chatctl'

/** The program is the only one in the image, so it checks its own health. */
export const imageHealth = ['CMD', '/usr/bin/chatctl', 'service', 'status', '--ready', '--quiet']

/** Nanoseconds in a second. */
const second = 1e9

/**
 * Makes the image of the service.
 * @param architecture in the words of Debian and of Go: amd64 or arm64
 * @param time of the build, in seconds since 1970
 */
export function makeServiceImage(architecture: string, executable: string, time: number): Image {
  const scratch = mkdtempSync(join(tmpdir(), 'chatctl-image-'))
  const umask = process.umask(0o022)
  try {
    const base = join(scratch, 'base')
    const own = join(scratch, 'own')
    extractBaseSystem(architecture, base)
    addUser(base)
    for (const directory of ['usr/bin', 'usr/share/doc/chatctl', imageData])
      mkdirSync(join(own, directory), { recursive: true })
    const program = join(own, 'usr/bin/chatctl')
    copyFileSync(executable, program)
    chmodSync(program, 0o755)
    copyFileSync(join(root, 'LICENSE'), join(own, 'usr/share/doc/chatctl/LICENSE'))
    copyFileSync(`${executable}.licenses.txt`, join(own, 'usr/share/doc/chatctl/licenses.txt'))
    return {
      architecture,
      created: new Date(time * 1000).toISOString(),
      config: describeService(),
      layers: [
        // Without the time of the build, so that all versions on the same packages share this layer.
        packLayer([{ directory: base, names: ['.'], owner: 0 }], 0),
        packLayer(
          [
            {
              directory: own,
              names: ['usr/bin/chatctl', 'usr/share/doc/chatctl'],
              owner: 0,
              mode: 'u=rwX,go=rX',
            },
            { directory: own, names: [imageData.slice(1)], owner: imageUser, mode: '0700' },
          ],
          time,
        ),
      ],
    }
  } finally {
    process.umask(umask)
    rmSync(scratch, { recursive: true, force: true })
  }
}

function addUser(base: string): void {
  const users = [
    `root:x:0:0:root:/root:/usr/sbin/nologin`,
    `chatctl:x:${imageUser}:${imageUser}::${imageData}:/usr/sbin/nologin`,
  ]
  const groups = ['root:x:0:', `chatctl:x:${imageUser}:`]
  writeFileSync(join(base, 'etc/passwd'), `${users.join('\n')}\n`)
  writeFileSync(join(base, 'etc/group'), `${groups.join('\n')}\n`)
  writeFileSync(join(base, 'etc/nsswitch.conf'), 'hosts: files dns\n')
}

function describeService(): object {
  const { version, description, license } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return {
    User: `${imageUser}:${imageUser}`,
    // The default data directory is $XDG_DATA_HOME/chatctl, so that no command needs --data.
    Env: ['PATH=/usr/bin', `HOME=${imageData}`, 'XDG_DATA_HOME=/var/lib', 'NODE_ENV=production'],
    WorkingDir: imageData,
    Volumes: { [imageData]: {} },
    ExposedPorts: { '8787/tcp': {} },
    Entrypoint: ['/usr/bin/chatctl'],
    // Other containers reach the service by plain HTTP only if it knows that a proxy encrypts.
    Cmd: ['service', 'run', '--host', '0.0.0.0', '--behind-proxy'],
    StopSignal: 'SIGTERM',
    // Not in the image-spec, but Docker reads it (github.com/moby/docker-image-spec); others ignore it.
    Healthcheck: { Test: imageHealth, Interval: 30 * second, Timeout: 10 * second, StartPeriod: 10 * second },
    Labels: {
      'org.opencontainers.image.title': 'chatctl',
      'org.opencontainers.image.description': description,
      'org.opencontainers.image.version': version,
      'org.opencontainers.image.licenses': license,
    },
  }
}
