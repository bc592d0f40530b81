import { spawn, spawnSync } from 'node:child_process'
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { delimiter, join } from 'node:path'
import { expect } from 'chai'
import { archiveName } from '../../scripts/release/describe-release.ts'
import { signRelease } from '../../scripts/release/signature.ts'
import { stranger } from '../programs/disk/run-as.ts'
import { mountSmallDisk } from '../programs/disk/small-disk.ts'
import { root } from '../scripts/package-file.ts'
import { perSuite, perTest } from '../support/lifetime.ts'
import { runProgram } from '../support/run-program.ts'
import { createSandbox } from '../support/sandbox.ts'
import { answer, type Behavior } from '../support/scripted-server.ts'
import { describeSample } from '../support/take-sample.ts'
import { runInstallScript } from './run-install-script.ts'
import { createSigningKey, ownTarget, releaseKey, serveRelease } from './served-release.ts'

const shells = [['/bin/dash'], ['/bin/bash'], ['/bin/busybox', 'sh']]

describeSample('install.sh', 3, () => {
  const release = perSuite(() => serveRelease())
  const sandbox = perTest(createSandbox)
  const script = () => join(release.directory, 'install.sh')
  const archive = () => archiveName(release.version, ownTarget)
  const ownDirectory = () => join(sandbox.home, '.local/bin')
  const program = () => join(ownDirectory(), 'chatctl')

  afterEach(() => release.faults.clear())

  const install = (args?: readonly string[], env?: NodeJS.ProcessEnv, shell?: readonly string[]) =>
    runInstallScript(release, sandbox, args, env, shell)

  function expectNothingInstalled(): void {
    expect(existsSync(ownDirectory()) ? readdirSync(ownDirectory()) : []).to.deep.equal([])
  }

  for (const shell of shells) {
    it(`installs the program for the current user, and then says so, in ${shell.join(' ')}`, async () => {
      const first = await install([], {}, shell)
      expect(first.stderr).to.equal('')
      expect(first.stdout).to.contain(`Installed chatctl ${release.version} in ${ownDirectory()}.`)
      expect(readdirSync(ownDirectory())).to.deep.equal(['chatctl'])
      expect(statSync(program()).mode & 0o777).to.equal(0o755)
      expect(spawnSync(program(), ['--version'], { encoding: 'utf8' }).stdout).to.equal(
        `chatctl ${release.version}\n`,
      )

      const requests = release.requested().length
      const second = await install([], {}, shell)
      expect(second.stdout).to.contain(`chatctl ${release.version} is already installed`)
      expect(second.exitCode).to.equal(0)
      expect(release.requested()).to.have.length(requests)
    })
  }

  it('reads the script from stdin, and installs in a directory with spaces and other letters', async () => {
    const directory = join(sandbox.home, 'Ü é', 'bin')
    const run = await runProgram(sandbox, ['--', '--dir', `${directory}/`], {
      program: ['sh', '-s'],
      stdin: readFileSync(script(), 'utf8'),
    })
    expect(run.stderr).to.equal('')
    expect(readdirSync(directory)).to.deep.equal(['chatctl'])
    expect(run.stdout).to.contain(`export PATH="${directory}:$PATH"`).and.contain('~/.profile')
    const zsh = await install([], { SHELL: '/bin/zsh' })
    expect(zsh.stdout).to.contain('Add this line to ~/.zshrc:')
  })

  it('replaces an older program in one step, so that a running one is not changed', async () => {
    const old = '#!/bin/sh\necho chatctl 0.0.9\n'
    mkdirSync(ownDirectory(), { recursive: true })
    writeFileSync(program(), old, { mode: 0o755 })
    const running = join(sandbox.home, 'running')
    linkSync(program(), running)
    const { stdout } = await install()
    expect(stdout).to.contain(`Updated chatctl 0.0.9 to ${release.version}`)
    expect(readFileSync(running, 'utf8')).to.equal(old)
    expect(readFileSync(program(), 'utf8')).not.to.equal(old)
  })

  it('says nothing about the PATH if the directory is on it, and names another chatctl that comes first', async () => {
    const path = `${ownDirectory()}${delimiter}${sandbox.env['PATH']}`
    expect((await install([], { PATH: path })).stdout).not.to.contain('PATH')
    const other = join(sandbox.home, 'other')
    mkdirSync(other)
    writeFileSync(join(other, 'chatctl'), '#!/bin/sh\n', { mode: 0o755 })
    const { stdout } = await install([], { PATH: `${other}${delimiter}${path}` })
    expect(stdout).to.contain(`Another chatctl comes first on the PATH: ${other}/chatctl`)
  })

  describe('installs nothing and keeps the old program', () => {
    const old = '#!/bin/sh\necho chatctl 0.0.9\n'
    const served = (name: string) => readFileSync(join(release.directory, name))
    const altered = (content: Buffer): Buffer => {
      const copy = Buffer.from(content)
      copy[copy.length >> 1] = (copy[copy.length >> 1] ?? 0) ^ 1
      return copy
    }
    const [sums, signature] = ['SHASUMS256.txt', 'SHASUMS256.txt.sig'] as const
    const alteredSums = (change: (text: string) => string): [string, Behavior] => [
      sums,
      answer(200, {}, change(served(sums).toString())),
    ]
    /** The signature of the sums that are served for the fault. */
    const signedSums = (change: (text: string) => string, { key, signers } = releaseKey()): Faults => {
      writeFileSync(join(sandbox.home, sums), change(served(sums).toString()))
      signRelease(sandbox.home, key, signers)
      return [alteredSums(change), [signature, answer(200, {}, readFileSync(join(sandbox.home, signature)))]]
    }
    type Faults = [string, Behavior][]
    const invalidSignature =
      /Could not verify signature\.\nError: .*signature of SHASUMS256.txt .*is not valid.*\nHint: {2}Do not/
    const cases: [string, () => Faults, RegExp][] = [
      [
        'the archive was altered',
        () => [[archive(), answer(200, {}, altered(served(archive())))]],
        /checksum of chatctl-\S+ is wrong.*\nHint:/,
      ],
      [
        'the archive is truncated',
        () => [[archive(), answer(200, {}, served(archive()).subarray(0, 1000))]],
        /checksum of chatctl-\S+ is wrong.*\nHint:/,
      ],
      ['the archive is missing', () => [[archive(), answer(404)]], /does not send http:\S+tar\.gz\nHint:/],
      [
        'the checksums do not list the archive',
        () => signedSums((text) => text.replaceAll('linux', 'plan9')),
        /does not list chatctl-/,
      ],
      [
        'the checksums are not checksums',
        () => signedSums((text) => text.replaceAll(/^\w+/gm, '$(reboot)')),
        /SHASUMS256.txt of version \S+ is not valid/,
      ],
      [
        'the checksums were altered',
        () => [alteredSums((text) => text.replaceAll(/^\w/gm, '0'))],
        invalidSignature,
      ],
      [
        'another key has signed the checksums',
        () => signedSums((text) => text, createSigningKey()),
        invalidSignature,
      ],
      ['the signature is missing', () => [[signature, answer(404)]], /does not send http:\S+\.sig\nHint:/],
    ]
    for (const [title, fault, message] of cases) {
      it(`if ${title}`, async () => {
        mkdirSync(ownDirectory(), { recursive: true })
        writeFileSync(program(), old, { mode: 0o755 })
        for (const [name, behavior] of fault()) release.faults.set(release.pathOf(name), behavior)
        const { exitCode, stderr } = await install()
        expect(stderr).to.match(message)
        expect(exitCode).to.equal(1)
        expect(readdirSync(ownDirectory())).to.deep.equal(['chatctl'])
        expect(readFileSync(program(), 'utf8')).to.equal(old)
      })
    }
  })

  it('does nothing if the script is truncated at any place', () => {
    const text = readFileSync(script(), 'utf8').trimEnd()
    const last = Array.from({ length: 40 }, (_, index) => text.length - 1 - index)
    const others = Array.from({ length: 20 }, (_, index) => Math.floor((text.length * index) / 20))
    // Without a server, a script that runs ends by itself.
    const env = { ...sandbox.env, CHATCTL_DOWNLOADS: 'http://127.0.0.1:1' }
    const outputOf = (shell: string, input: string) =>
      spawnSync(shell, ['-s'], { env, input, encoding: 'utf8' }).stdout
    for (const shell of ['dash', 'bash']) {
      for (const length of [...last, ...others]) expect(outputOf(shell, text.slice(0, length))).to.equal('')
      expect(outputOf(shell, text)).to.contain('Downloading')
    }
    expect(existsSync(join(sandbox.home, '.local'))).to.equal(false)
  })

  for (const [signal, exitCode] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const) {
    it(`leaves no files after ${signal} during the download`, async () => {
      const child = spawn('dash', [script()], { env: sandbox.env, detached: true, stdio: 'ignore' })
      const ended = new Promise((resolve) => child.once('exit', resolve))
      release.faults.set(release.pathOf(archive()), (_, response) => {
        response.writeHead(200, { 'content-length': '100000' }).write('part')
        // The whole process group, as a terminal does.
        process.kill(-(child.pid ?? Number.NaN), signal)
      })
      expect(await ended).to.equal(exitCode)
      expect(existsSync(join(sandbox.home, '.local'))).to.equal(false)
    })
  }

  it('names a version that does not exist', async () => {
    const { exitCode, stderr } = await install(['--version', 'v9.9.9'])
    expect(stderr).to.contain('404').and.contain('/v9.9.9/SHASUMS256.txt\nHint:  ')
    expect(exitCode).to.equal(1)
    expectNothingInstalled()
  })

  it('refuses arguments that it does not know, and values that are not versions', async () => {
    for (const args of [['--prefix'], ['--dir'], ['--version', ''], ['--version', '../1']]) {
      const { exitCode, stderr } = await install(args)
      expect(exitCode, args.join(' ')).to.equal(2)
      expect(stderr).to.match(/^Error: .*\nHint: {2}/)
    }
    expect((await install(['--version=9.9.9', `--dir=${sandbox.home}/new`])).stderr).to.contain('/v9.9.9/')
    expect((await install(['--help'])).stdout).to.contain('--dir DIRECTORY')
    expect((await install([], { HOME: '' })).stderr).to.contain('HOME is not set')
  })

  it('downloads over plain HTTP only from this machine', async () => {
    for (const downloads of ['http://chat.example/a', 'ftp://chat.example', 'http://127.0.0.1.chat.example/'])
      expect((await install([], { CHATCTL_DOWNLOADS: downloads })).stderr).to.contain('is not an https URL')
    const user = await install([], { CHATCTL_DOWNLOADS: 'http://127.0.0.1:1@chat.example' })
    expect(user.stderr).to.contain('contains a space or an @')
    for (const mirror of [`${release.url}/other`, `${release.url}/other/`]) {
      const { stderr } = await install([], { CHATCTL_DOWNLOADS: mirror })
      expect(stderr).to.contain(`/other/v${release.version}/`)
    }
  })

  it('does not replace a link or a directory', async () => {
    mkdirSync(ownDirectory(), { recursive: true })
    symlinkSync('/nowhere', program())
    expect((await install()).stderr).to.contain('not a file that this script installed')
    expect(readdirSync(ownDirectory())).to.deep.equal(['chatctl'])
  })

  it('says why if the directory cannot be created, written, or used for programs', async () => {
    expect((await install(['--dir', '/proc/chatctl'])).stderr).to.contain('Cannot create the directory')
    const { stderr } = spawnSync(
      'setpriv',
      [`--reuid=${stranger}`, '--clear-groups', 'sh', '-s', '--', '--dir', '/usr'],
      { env: sandbox.env, input: readFileSync(script()), encoding: 'utf8' },
    )
    expect(stderr).to.contain('Cannot write to the directory /usr')
    using disk = mountSmallDisk(sandbox, '1m,noexec')
    const run = await install(['--dir', disk.path])
    expect(run.stderr).to.contain('noexec').and.contain('--dir')
    expect(readdirSync(disk.path)).to.deep.equal([])
  })

  it('says so if the disk is full', async () => {
    using disk = mountSmallDisk(sandbox, '32k')
    expect((await install(['--dir', disk.path])).stderr).to.contain('Check the free space')
    expect(readdirSync(disk.path)).to.deep.equal([])
  })

  it('shows why a program that was verified does not start', async () => {
    // As if the script were of another version than the program.
    const text = readFileSync(script(), 'utf8').replace('"chatctl $version"', '"chatctl 0.0.1"')
    const run = await runProgram(sandbox, [], { program: ['sh', '-s'], stdin: text })
    expect(run.stderr).to.contain(`so nothing was installed: chatctl ${release.version}`)
    expectNothingInstalled()
  })

  it('passes shellcheck, like the script of the action', () => {
    const scripts = ['scripts/release/install.sh', 'scripts/release/run-action.sh']
    expect(spawnSync('shellcheck', scripts, { cwd: root, encoding: 'utf8' }).stdout).to.equal('')
  })
})
