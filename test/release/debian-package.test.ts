import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { buildDebianPackage, debianVersion } from '../../scripts/release/debian-package.ts'
import { packageFile } from '../scripts/package-file.ts'
import { executableFor } from '../support/executable.ts'
import { perSuite } from '../support/lifetime.ts'
import { takeSample } from '../support/take-sample.ts'
import { DebianMachine, obstacle, type Suite, suites } from './debian-machine.ts'

const time = Date.UTC(2026, 0, 31) / 1000
const maintainer = 'Example <packages@chatctl.example>'
const leftOut = obstacle === undefined ? '' : `; skipped: ${obstacle}`

const run = (command: string, ...args: string[]) => execFileSync(command, args, { encoding: 'utf8' })

describe(`the Debian package${leftOut}`, () => {
  let directory: string
  let executable: string
  let file: string

  const build = (given: Partial<Parameters<typeof buildDebianPackage>[0]> = {}) => {
    const { version } = packageFile
    const described = { architecture: 'amd64', executable, version, maintainer, time, ...given }
    return buildDebianPackage(described, directory)
  }

  before(obstacle ?? 'build it', async function () {
    if (obstacle !== undefined) {
      if (process.env['CI']) throw new Error(obstacle)
      this.skip()
    }
    this.timeout(300_000)
    executable = await executableFor('linux-x64')
    directory = mkdtempSync(join(tmpdir(), 'chatctl-deb-'))
    // apt reads packages as another user.
    chmodSync(directory, 0o755)
    file = build()
  })
  after(() => {
    if (directory) rmSync(directory, { recursive: true, force: true })
  })

  it('names what it needs, for both architectures', () => {
    const field = (path: string, name: string) => run('dpkg-deb', '--field', path, name).trim()
    expect(field(file, 'Depends')).to.match(/^libc6 \(>= 2\.\d+\), libgcc-s1, libstdc\+\+6 \(>= \d+\)$/)
    expect(field(file, 'Maintainer')).to.equal(maintainer)
    const small = join(directory, 'small')
    plant(small)
    const other = build({ architecture: 'arm64', executable: small, version: '1.0.0-beta.1' })
    expect(other).to.match(/chatctl_1\.0\.0-beta\.1_arm64\.deb$/)
    expect(field(other, 'Version')).to.equal('1.0.0~beta.1')
    expect(field(other, 'Architecture')).to.equal('arm64')
    run('dpkg', '--compare-versions', debianVersion('1.0.0-beta.1'), 'lt', debianVersion('1.0.0'))
  })

  it('has the same bytes in each build, whatever the umask is', () => {
    const small = join(directory, 'small')
    plant(small)
    const first = readFileSync(build({ executable: small, version: '0.0.1' }))
    const umask = process.umask(0o077)
    const second = readFileSync(build({ executable: small, version: '0.0.1' }))
    process.umask(umask)
    expect(first.equals(second)).to.equal(true)
    expect(run('dpkg-deb', '--contents', build({ executable: small, version: '0.0.1' }))).not.to.match(
      /^(?!(drwxr-xr-x|-rw-r--r--|-rwxr-xr-x) root\/root .* 2026-01-31 00:00 )./m,
    )
  })

  describe('unpacked', () => {
    let root: string
    before(() => {
      root = join(directory, 'unpacked')
      run('dpkg-deb', '--extract', file, root)
    })

    it('has man pages that man finds', () => {
      const pages = join(root, 'usr/share/man')
      run('makewhatis', pages)
      const man = (page: string) => run('mman', '-M', pages, '-w', page)
      for (const page of ['chatctl', 'chatctl-users-import', 'chatctl-exit-codes'])
        expect(man(page)).to.contain(`/${page}.`)
    })

    it('has completions where bash, zsh, and fish look for them', () => {
      const share = join(root, 'usr/share')
      const env = { PATH: `${join(root, 'usr/bin')}:/usr/bin:/bin`, HOME: directory }
      const shell = (program: string, ...args: string[]) =>
        execFileSync(program, args, { env, encoding: 'utf8' })
      const bash = `. '${share}/bash-completion/completions/chatctl'; complete -p chatctl
        COMP_LINE='chatctl docto' COMP_POINT=13; _chatctl; echo "\${COMPREPLY[@]}"`
      expect(shell('bash', '--norc', '-c', bash)).to.match(/-F _chatctl chatctl\ndoctor/)
      expect(shell('zsh', '-fc', 'print $fpath')).to.contain('/usr/share/zsh/vendor-completions')
      const zsh = `fpath=('${share}/zsh/vendor-completions' $fpath)
        autoload -Uz compinit; compinit -u -d '${directory}/zcompdump'; print $_comps[chatctl]`
      expect(shell('zsh', '-fc', zsh)).to.equal('_chatctl\n')
      expect(shell('fish', '-c', 'echo $fish_complete_path')).to.contain(
        '/usr/share/fish/vendor_completions.d',
      )
      const fish = `source '${share}/fish/vendor_completions.d/chatctl.fish'; complete -C 'chatctl docto'`
      expect(shell('fish', '--no-config', '-c', fish)).to.match(/^doctor\t/)
    })

    it('has a valid systemd unit, which is the one in the guide, and its system user', () => {
      const unit = join(root, 'usr/lib/systemd/system/chatctl.service')
      run('systemd-analyze', 'verify', '--man=no', unit)
      const guide = readFileSync(join(import.meta.dirname, '../../docs/guides/host-the-service.md'), 'utf8')
      expect(guide).to.contain(`\`\`\`ini\n${readFileSync(unit, 'utf8')}\`\`\`\n`)
      mkdirSync(join(root, 'etc'))
      run('systemd-sysusers', '--root', root, 'chatctl.conf')
      const user = /^chatctl:x:\d+:\d+:chatctl service:\/var\/lib\/chatctl:\/usr\/sbin\/nologin$/m
      expect(readFileSync(join(root, 'etc/passwd'), 'utf8')).to.match(user)
    })

    it('has its license, those of what it contains, and its changes', () => {
      const documents = join(root, 'usr/share/doc/chatctl')
      const copyright = readFileSync(join(documents, 'copyright'), 'utf8')
      expect(copyright).to.match(/^Format: \S+\/copyright-format\/1\.0\/\n/)
      expect(copyright).to.contain('\nLicense: Expat\n Permission is hereby granted').and.contain('\n .\n')
      expect(run('zcat', join(documents, 'licenses.txt.gz')))
        .to.contain('=== fastify ')
        .and.contain(`=== node ${process.versions.node} `)
      expect(run('zcat', join(documents, 'CHANGELOG.md.gz'))).to.contain('# Changelog')
      const changelog = run('dpkg-parsechangelog', '--all', '-l', join(documents, 'changelog.gz'))
      expect(changelog).to.contain(`\nVersion: ${packageFile.version}\n`).and.contain('31 Jan 2026')
    })
  })

  const { sample, words } = takeSample(suites, 1)
  for (const suite of sample) describe(`on Debian ${suite} (${words})`, () => testOn(suite))

  function testOn(suite: Suite): void {
    const machine = perSuite(() => DebianMachine.start(suite, directory))
    let before: string

    /** All files, without the logs and caches of apt and dpkg. */
    const listFiles = async () => {
      const unwatched = [
        '/proc',
        '/dev',
        '/mnt',
        '/tmp',
        '/home',
        '/var/lib/dpkg',
        '/var/log',
        '/var/cache',
        '/var/lib/apt',
      ]
      const pruned = unwatched.map((path) => `-path ${path}`).join(' -o ')
      return (await machine.run(`find / \\( ${pruned} \\) -prune -o -print | sort`)).stdout
    }
    const expectDone = async (script: string, user?: number) => {
      const { exitCode, stdout, stderr } = await machine.run(script, user)
      expect(exitCode, stdout + stderr).to.equal(0)
      return stdout
    }

    it('installs with apt and no other package', async () => {
      before = await listFiles()
      const said = await expectDone(`apt-get install --yes /mnt/${nameOf(file)} 2>&1`)
      expect(said).to.contain('0 upgraded, 1 newly installed').and.contain('Setting up chatctl')
      expect(await expectDone('dpkg --verify chatctl')).to.equal('')
      expect(await expectDone('chatctl --version')).to.equal(`chatctl ${packageFile.version}\n`)
    })

    it('chats, creates a user, and filters JSON as a new user of the system', async () => {
      await expectDone('mkdir --mode 700 /home/ada; chown 1000:1000 /home/ada')
      expect(await expectDone('chatctl chat send Hello', 1000)).to.match(/not an AI/)
      const create = 'chatctl users create --email ada@example.com --generate-password --profile local'
      expect(await expectDone(`${create} --jq .email`, 1000)).to.equal('ada@example.com\n')
    })

    it('runs the service as its unit says', async () => {
      const said = await expectDone(`set -e
        read() { sed -n "s|^$1=||p" /usr/lib/systemd/system/chatctl.service; }
        directory=/var/lib/$(read StateDirectory)
        install --directory --mode 700 --owner 1000 --group 1000 $directory
        OPTIONS='--port 0 --log-level warn'
        start=$(eval echo $(read ExecStart))
        setpriv --reuid 1000 --regid 1000 --clear-groups env HOME=$directory $start >/tmp/ready & service=$!
        until chatctl service status --data $directory --ready >/dev/null 2>&1; do kill -0 $service; done
        stat --format %u $directory/chatctl.db
        kill $service
        wait $service`)
      expect(said).to.equal('1000\n')
    })

    it('creates the user and disables the unit only where systemd is', async () => {
      const path = `/mnt/${nameOf(file)}`
      await expectDone(`for name in systemd-sysusers systemctl; do
          printf '#!/bin/sh\\necho "%s $*" >>/tmp/systemd.log\\n' $name >/usr/local/bin/$name
          chmod +x /usr/local/bin/$name
        done
        PATH=/usr/local/bin:$PATH; dpkg --install ${path} && dpkg --remove chatctl
        rm /usr/local/bin/*; dpkg --install ${path}`)
      expect(await expectDone('cat /tmp/systemd.log')).to.equal(
        'systemd-sysusers chatctl.conf\nsystemctl disable --now chatctl.service\n',
      )
    })

    it('is upgraded while the service runs, which continues with the old program', async () => {
      const next = build({ version: `${packageFile.version}+next` })
      const said = await expectDone(`set -e
        chatctl service run --port 0 --json --log-level warn >/tmp/ready & service=$!
        until chatctl service status --ready >/dev/null 2>&1; do kill -0 $service; done
        apt-get install --yes /mnt/${nameOf(next)} >/dev/null 2>&1
        chatctl service status --ready
        chatctl chat send Hello --debug 2>&1 | grep 'runs in this process'
        kill $service
        wait $service`)
      expect(said).to.match(/^http:\/\/127\.0\.0\.1:\d+\n.* runs in this process/)
      expect(await expectDone('dpkg-query --status chatctl')).to.contain('+next')
    })

    it('is removed without a trace, except for the data of users and of the service', async () => {
      await expectDone('apt-get purge --yes chatctl; rm -rf /root/.local /root/.cache')
      expect((await machine.run('command -v chatctl')).exitCode).not.to.equal(0)
      await expectDone('rm -r /var/lib/chatctl')
      expect(await listFiles()).to.equal(before)
      expect(await expectDone('ls /home/ada/.local/share/chatctl', 1000)).to.contain('chatctl.db')
    })
  }
})

/** A program, with the licenses that its builder writes. */
function plant(path: string): void {
  writeFileSync(path, '#!/bin/sh\n')
  writeFileSync(`${path}.licenses.txt`, 'MIT\n')
}

const nameOf = (path: string) => path.split('/').at(-1)
