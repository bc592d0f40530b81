import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect } from 'chai'
import { archiveName } from '../../scripts/release/describe-release.ts'
import { systemRequirements } from '../../scripts/release/system-requirements.ts'
import { stranger } from '../programs/disk/run-as.ts'
import { makeCertificate } from '../support/certificate.ts'
import { perSuite, perTest } from '../support/lifetime.ts'
import { runProgram } from '../support/run-program.ts'
import { createSandbox } from '../support/sandbox.ts'
import { answer, type RecordedRequest, redirect, startScriptedServer } from '../support/scripted-server.ts'
import { describeSample } from '../support/take-sample.ts'
import { makeToolPath, runInstallScript } from './run-install-script.ts'
import { ownTarget, serveRelease } from './served-release.ts'

describeSample('install.sh, on different systems,', 2, () => {
  const release = perSuite(() => serveRelease())
  const sandbox = perTest(createSandbox)
  const program = () => join(sandbox.home, '.local/bin/chatctl')
  const install = (args: readonly string[], env: NodeJS.ProcessEnv) =>
    runInstallScript(release, sandbox, args, env)
  /** Installs without some tools of the system, or with scripts in place of them. */
  const installWithout = (omitted: string[], scripts: Record<string, string> = {}, args: string[] = []) =>
    install(args, { PATH: makeToolPath(sandbox, omitted, scripts) })

  function expectNothingInstalled(): void {
    const directory = join(sandbox.home, '.local/bin')
    expect(existsSync(directory) ? readdirSync(directory) : []).to.deep.equal([])
  }

  it('downloads with GNU Wget if curl is not installed', async () => {
    expect((await installWithout(['curl'])).stdout).to.contain('Installed chatctl')
    const missing = await installWithout(['curl'], {}, ['--dir', 'other', '--version', '9.9.9'])
    expect(missing.stderr).to.contain('does not send')
    // GNU Wget2 shows no redirects.
    const wget2 = { wget: 'echo GNU Wget2 2.1.0 - multithreaded downloader' }
    for (const [omitted, scripts] of [[['curl', 'wget']], [['curl'], wget2]] as const) {
      const { stderr } = await installWithout([...omitted], scripts, ['--dir', 'other'])
      expect(stderr).to.contain('Neither curl nor GNU Wget')
    }
  })

  for (const [downloader, omitted] of [
    ['curl', 'wget'],
    ['wget', 'curl'],
  ] as const) {
    it(`follows redirects to https, and refuses one to plain HTTP, with ${downloader}`, async () => {
      const certificate = makeCertificate('127.0.0.1')
      const authority = join(sandbox.home, 'authority.pem')
      const settings = join(sandbox.home, 'wgetrc')
      writeFileSync(authority, certificate.cert)
      writeFileSync(settings, `ca_certificate = ${authority}\n`)
      const choose = ({ path: url }: RecordedRequest) => {
        const path = url.replace(/^\/(again|plain)/, '')
        if (url === path) return answer(200, {}, release.contentOf(basename(path)))
        // RFC 9110 section 5.6.3: a tab is white space, too.
        const base = url.startsWith('/again') ? '' : `\t${new URL(release.url).origin}`
        return redirect(302, base + path)
      }
      await using server = await startScriptedServer({ choose }, { certificate })
      const env = (kind: string) => ({
        PATH: makeToolPath(sandbox, [omitted]),
        CURL_CA_BUNDLE: authority,
        WGETRC: settings,
        CHATCTL_DOWNLOADS: `${server.url}/${kind}/acme/chatctl/releases/download`,
      })
      const { exitCode, stdout, stderr } = await install([], env('plain'))
      expect([exitCode, stdout]).to.deep.equal([
        1,
        `Downloading chatctl ${release.version} for ${ownTarget}\n`,
      ])
      expect(stderr).to.match(/without https|status 1 of curl/)
      expectNothingInstalled()
      expect((await install([], env('again'))).stdout).to.contain('Installed chatctl')
    })
  }

  it('verifies the download with shasum or openssl, and never omits it', async () => {
    for (const other of ['openssl', 'shasum']) {
      expect((await installWithout(['sha256sum', other])).exitCode).to.equal(0)
      rmSync(program())
    }
    const none = await installWithout(['sha256sum', 'shasum', 'openssl'])
    expect(none.stderr).to.contain('cannot be verified')
    expectNothingInstalled()
  })

  it('verifies only the checksum, and says so, without an OpenSSH that verifies signatures', async () => {
    const old = { 'ssh-keygen': 'echo "unknown option -- Y" >&2; exit 1' }
    const nameless = { 'ssh-keygen': `exec /usr/bin/setpriv --reuid=${stranger} /usr/bin/ssh-keygen "$@"` }
    for (const [omitted, scripts, reason] of [
      [['ssh-keygen'], {}, 'OpenSSH 8.1 '],
      [[], old, 'OpenSSH 8.1 '],
      [[], nameless, `ssh-keygen fails: No user exists for uid ${stranger}`],
    ] as const) {
      const { exitCode, stderr } = await installWithout([...omitted], scripts)
      expect(stderr).to.contain(`not verified: ${reason}`)
      expect(stderr).to.match(/^Warning: .*\n.*damage.*tampering\.\n$/)
      expect(exitCode).to.equal(0)
      rmSync(program())
    }
    release.faults.set(release.pathOf(archiveName(release.version, ownTarget)), answer(200, {}, 'altered'))
    expect((await installWithout(['ssh-keygen'])).stderr).to.contain('checksum')
    release.faults.clear()
    expectNothingInstalled()
  })

  it('verifies only the checksum, and says so, if the script contains no public key', async () => {
    const text = readFileSync(join(release.directory, 'install.sh'), 'utf8').replace(
      /^chatctl-release .*$/m,
      '# None',
    )
    const { stderr, stdout } = await runProgram(sandbox, [], { program: ['sh', '-s'], stdin: text })
    expect(stderr).to.contain('This script contains no public key').and.contain('tampering')
    expect(stdout).to.contain('Installed chatctl')
  })

  describe('refuses a system on which the program cannot run, and names the npm package', () => {
    const uname = (system: string, machine: string) => `[ "$1" = -s ] && echo ${system} || echo ${machine}`
    const oldLibc = '[ "$1" = LONG_BIT ] && echo 64 || echo glibc 2.27'
    const olderLibc = { getconf: 'exit 1', ldd: 'echo "ldd (GNU libc) 2.17"' }
    const oldMac = { uname: uname('Darwin', 'arm64'), sw_vers: 'echo 12.7.6' }
    const { glibc } = systemRequirements
    const cases: [string, Record<string, string>, string][] = [
      ['an old glibc', { getconf: oldLibc }, `${glibc} or newer. This system has glibc 2.27`],
      ['an old glibc without getconf', olderLibc, 'This system has glibc 2.17'],
      ['musl', { getconf: 'exit 1', ldd: 'echo "musl libc (x86_64)" >&2; exit 1' }, 'This system uses musl'],
      ['a 32-bit system', { getconf: 'echo 32' }, 'The programs of this system are 32-bit'],
      ['a 32-bit processor', { uname: uname('Linux', 'i686') }, 'This one is i686'],
      ['an old macOS', oldMac, '13.5 or newer. This is macOS 12.7.6'],
      ['another system', { uname: uname('FreeBSD', 'amd64') }, 'No chatctl program exists for FreeBSD'],
    ]
    for (const [title, printing, message] of cases) {
      it(title, async () => {
        const { exitCode, stderr } = await installWithout([], printing)
        expect(stderr).to.contain(message).and.contain('npm install --global chatctl')
        expect(exitCode).to.equal(1)
        expectNothingInstalled()
      })
    }

    it('but takes the arm64 program under Rosetta, and newer systems', async () => {
      const rosetta = { uname: uname('Darwin', 'x86_64'), sysctl: 'echo 1', sw_vers: 'echo 26.0' }
      await installWithout([], rosetta)
      expect(release.requested().at(-1)).to.contain('darwin-arm64')
      rmSync(program())
      const intel = { uname: uname('Darwin', 'x86_64'), sysctl: 'exit 1', sw_vers: 'echo 13.5' }
      await installWithout([], intel)
      expect(release.requested().at(-1)).to.contain('darwin-x64')
      expect(existsSync(program())).to.equal(true)
    })
  })
})
