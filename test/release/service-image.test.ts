import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { type Image, packLayer, writeLayout } from '../../scripts/image/image-layout.ts'
import { imageData, imageHealth, imageUser, makeServiceImage } from '../../scripts/image/service-image.ts'
import { packageFile } from '../scripts/package-file.ts'
import { executableFor } from '../support/executable.ts'
import { perSuite } from '../support/lifetime.ts'
import { startPostgres } from '../support/postgres.ts'
import { describeSample } from '../support/take-sample.ts'
import { until } from '../support/until.ts'
import { type Bundle, type ContainerOptions, readBundle, ServiceContainer } from './service-container.ts'

const emulator = '/usr/bin/qemu-aarch64-static'
const needed = ['/usr/bin/mmdebstrap', '/usr/bin/umoci', '/usr/sbin/runc', emulator]
const obstacle =
  process.platform !== 'linux' || process.getuid?.() !== 0
    ? 'running containers needs root on Linux'
    : needed.every((path) => existsSync(path))
      ? undefined
      : `run scripts/install-system-deps to install ${needed.join(', ')}`
const leftOut = obstacle === undefined ? '' : `; skipped: ${obstacle}`

interface Descriptor {
  digest: string
  size: number
  platform?: { os: string; architecture: string }
}

const time = Date.UTC(2026, 0, 31) / 1000
const tag = packageFile.version

describe(`the image of the service${leftOut}`, () => {
  let directory: string
  let images: Record<'amd64' | 'arm64', Image>
  let bundle: Bundle

  const unpack = (image: Image): string => {
    const layout = join(directory, `layout-${image.architecture}`)
    const unpacked = join(directory, image.architecture)
    writeLayout(layout, tag, [image])
    execFileSync('umoci', ['unpack', '--image', `${layout}:${tag}`, unpacked])
    return unpacked
  }

  before(obstacle ?? 'build it', async function () {
    if (obstacle !== undefined) {
      if (process.env['CI']) throw new Error(obstacle)
      this.skip()
    }
    this.timeout(300_000)
    directory = mkdtempSync(join(tmpdir(), 'chatctl-image-'))
    images = {
      amd64: makeServiceImage('amd64', await executableFor('linux-x64'), time),
      arm64: makeServiceImage('arm64', await executableFor('linux-arm64'), time),
    }
    bundle = readBundle(unpack(images.amd64))
  })
  after(() => {
    if (directory) rmSync(directory, { recursive: true, force: true })
  })

  describe('as a layout', () => {
    it('has an index with both architectures, in which every digest and size is right', () => {
      const layout = join(directory, 'layout')
      writeLayout(layout, tag, Object.values(images))
      const read = (digest: string) => readFileSync(join(layout, 'blobs', digest.replace(':', '/')))
      const found: string[] = []
      const follow = ({ digest, size, platform }: Descriptor) => {
        const bytes = read(digest)
        expect(bytes.length).to.equal(size)
        expect(`sha256:${createHash('sha256').update(bytes).digest('hex')}`).to.equal(digest)
        if (platform) found.push(`${platform.os}/${platform.architecture}`)
        return bytes
      }
      const index = JSON.parse(readFileSync(join(layout, 'index.json'), 'utf8'))
      expect(index.manifests[0].annotations).to.deep.equal({ 'org.opencontainers.image.ref.name': tag })
      for (const one of JSON.parse(follow(index.manifests[0]).toString()).manifests) {
        const { config, layers } = JSON.parse(follow(one).toString())
        expect(JSON.parse(follow(config).toString())).to.include(one.platform)
        for (const layer of layers) follow(layer)
      }
      expect(found).to.deep.equal(['linux/amd64', 'linux/arm64'])
    })

    it('has the same bytes in each build, and its base system is the same for another program', () => {
      const program = join(directory, 'program')
      const pack = () => {
        rmSync(program, { force: true })
        writeFileSync(program, 'another')
        return packLayer([{ directory, names: ['program'], owner: 0, mode: '0755' }], time)
      }
      const first = pack()
      const umask = process.umask(0o077)
      writeFileSync(`${program}.licenses.txt`, 'MIT\n')
      const [base] = makeServiceImage('amd64', program, time).layers
      expect(pack()).to.deep.equal(first)
      process.umask(umask)
      expect(base).to.deep.equal(images.amd64.layers[0])
    })

    it('has one program, no file with special rights, and the versions of its packages', () => {
      const root = join(directory, 'amd64/rootfs')
      expect(readdirSync(join(root, 'usr/bin'))).to.deep.equal(['chatctl'])
      expect(readdirSync(join(root, 'usr/sbin'))).to.deep.equal([])
      expect(
        execFileSync('find', [root, '-perm', '/6000', '-o', '-type', 'b'], { encoding: 'utf8' }),
      ).to.equal('')
      const records = globSync('var/lib/dpkg/status.d/*', { cwd: root }).map((path) => path.split('/').at(-1))
      expect(records.sort()).to.deep.equal(['base-files', 'gcc-14-base', 'libc6', 'libgcc-s1', 'libstdc++6'])
      expect(readdirSync(join(root, 'usr/share/doc/chatctl')).sort()).to.deep.equal([
        'LICENSE',
        'licenses.txt',
      ])
    })

    it('runs on arm64 with the libraries that it contains', () => {
      const root = join(unpack(images.arm64), 'rootfs')
      const said = execFileSync(emulator, ['-L', root, join(root, 'usr/bin/chatctl'), '--version'])
      expect(said.toString()).to.equal(`chatctl ${packageFile.version}\n`)
    })
  })

  describeSample('in a container', 1, () => {
    const containers: ServiceContainer[] = []
    let volume: string

    beforeEach(() => {
      volume = join(directory, 'volume')
      mkdirSync(volume, { mode: 0o700 })
      chownSync(volume, imageUser, imageUser)
    })
    afterEach(async () => {
      for (const container of containers.splice(0)) await container.remove()
      rmSync(volume, { recursive: true })
    })

    const create = (options: Partial<ContainerOptions> = {}): ServiceContainer => {
      const mounts = { [imageData]: volume, ...options.mounts }
      const container = ServiceContainer.create(bundle, { ...options, mounts })
      containers.push(container)
      return container
    }
    const start = async (options?: Partial<ContainerOptions>) => {
      const container = create(options)
      await container.ready()
      return container
    }
    /** The health check of the image, for Docker. */
    const check = (container: ServiceContainer) => {
      expect(images.amd64.config).to.have.nested.property('Healthcheck.Test', imageHealth)
      const [kind, program, ...args] = imageHealth
      expect([kind, program]).to.deep.equal(['CMD', '/usr/bin/chatctl'])
      return container.exec(...args)
    }

    it('runs as a user without rights, is healthy, and answers requests with a key', async () => {
      const container = await start()
      const status = readFileSync(`/proc/${await container.pid()}/status`, 'utf8')
      expect(status)
        .to.match(new RegExp(`^Uid:(\\t${imageUser}){4}$`, 'm'))
        .and.match(/^CapEff:\t0+$/m)
      expect(await check(container)).to.include({ exitCode: 0, stdout: 'http://127.0.0.1:8787\n' })
      const created = await container.exec('service', 'keys', 'create', '--name', 'first', '--jq', '.key')
      expect(created).to.include({ exitCode: 0 })
      const url = 'http://127.0.0.1:8787/api/user/profile'
      expect(await container.request(url)).to.have.property('status', 401)
      const headers = { authorization: `Bearer ${created.stdout.trim()}` }
      expect(await container.request(url, headers)).to.have.nested.property('body.id', 'usr_admin')
      for (const line of container.log.trim().split('\n')) expect(JSON.parse(line)).to.have.property('level')
    })

    it('stops on SIGTERM with exit code 0, and keeps its data in the volume', async () => {
      const first = await start()
      const keys = await first.exec('service', 'keys', 'create', '--name', 'kept')
      expect(keys.exitCode).to.equal(0)
      expect(await first.end('TERM')).to.equal(0)
      expect(first.log).to.contain('"msg":"closed"')
      const second = await start()
      expect((await second.exec('service', 'keys', 'list', '--jq', '.[].name')).stdout).to.equal('kept\n')
    })

    it('starts again after it was killed, and restores a backup in another container', async () => {
      const first = await start()
      const backup = `${imageData}/backup.db`
      expect((await first.exec('service', 'backup', '--to', backup)).exitCode).to.equal(0)
      await first.end('KILL')
      const restoring = create({ args: ['service', 'restore', backup, '--yes'] })
      expect(await restoring.end(), restoring.log).to.equal(0)
      expect((await check(await start())).exitCode).to.equal(0)
    })

    it('creates the first admin with a password from a file', async () => {
      const secret = join(directory, 'password')
      writeFileSync(secret, 'correct horse battery staple\n', { mode: 0o444 })
      const container = await start({ mounts: { '/run/secrets/password': secret } })
      const words = [
        'service',
        'admin',
        'create',
        'ada@example.com',
        '--password-file',
        '/run/secrets/password',
      ]
      expect(await container.exec(...words)).to.include({ exitCode: 0 })
      const users = await container.exec('service', 'users', 'list', '--jq', '.[].email')
      expect(users.stdout).to.contain('ada@example.com')
    })

    it('names the data directory that its user cannot write', async () => {
      chownSync(volume, 0, 0)
      chmodSync(volume, 0o755)
      const container = create()
      expect(await container.end()).not.to.equal(0)
      expect(container.log).to.contain(`Cannot write ${imageData}/chatctl.db (EACCES)`)
    })

    describe('with PostgreSQL', () => {
      const postgres = perSuite(startPostgres)

      it('stores its data there, with the URL in a secret that a group can read', async () => {
        const database = new URL(await postgres.createDatabase())
        database.searchParams.set('host', '/run/postgresql')
        const secret = join(directory, 'database-url')
        writeFileSync(secret, database.href)
        chownSync(secret, 0, imageUser)
        chmodSync(secret, 0o440)
        chmodSync(postgres.socketDirectory, 0o711)
        const container = await start({
          env: { CHATCTL_DATABASE_FILE: '/run/secrets/database-url' },
          mounts: { '/run/secrets/database-url': secret, '/run/postgresql': postgres.socketDirectory },
        })
        expect((await check(container)).exitCode).to.equal(0)
        await container.exec('service', 'keys', 'create', '--name', 'shared')
        expect(
          await postgres.query('select name from api_keys', database.href.replace(/\?.*/, '')),
        ).to.deep.equal([{ name: 'shared' }])
        expect(container.log).not.to.contain(postgres.password)
        await postgres.stop('immediate')
        // The first check may still find a connection, or its result.
        await until(async () => (await check(container)).exitCode === 69)
        expect((await check(container)).stderr).to.contain('not ready: storage_unavailable')
        expect(await container.end('TERM')).to.equal(0)
      })
    })
  })
})
