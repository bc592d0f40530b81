import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import { systemRequirements } from './system-requirements.ts'

const root = resolve(import.meta.dirname, '../..')

/** Debian's words for the targets that it has. */
export const debianArchitectures: Readonly<Record<string, string>> = {
  'linux-x64': 'amd64',
  'linux-arm64': 'arm64',
}

export interface DebianPackage {
  /** One of `debianArchitectures`. */
  architecture: string
  /** Path of the program, which has its licenses in `.licenses.txt` next to it. */
  executable: string
  /** The version in package.json. */
  version: string
  /** `Name <address>`. */
  maintainer: string
  homepage?: string | undefined
  /** The time of all files, in seconds since 1970. */
  time: number
}

/** Where each shell finds the completion of a command of the system. */
const completions = {
  bash: 'bash-completion/completions/chatctl',
  fish: 'fish/vendor_completions.d/chatctl.fish',
  zsh: 'zsh/vendor-completions/_chatctl',
}

/** sysusers.d(5). */
const sysusers = 'u chatctl - "chatctl service" /var/lib/chatctl /usr/sbin/nologin\n'

const reloadSystemd = 'if [ -d /run/systemd/system ]; then systemctl daemon-reload || true; fi'

/**
 * Where systemd is, they create the system user of the service and make its unit known (Debian Policy 6.5), which needs
 * options before it is enabled. An upgrade says "restart". The user and the data stay after a removal.
 */
const maintainerScripts = {
  postinst: `#!/bin/sh
set -e
if [ "$1" = configure ] && command -v systemd-sysusers >/dev/null; then
  systemd-sysusers chatctl.conf
fi
${reloadSystemd}
[ -z "$2" ] || echo 'chatctl: the service still runs the previous version. Restart it with: systemctl restart chatctl'
`,
  prerm: `#!/bin/sh
set -e
if [ "$1" = remove ] && command -v systemctl >/dev/null; then
  systemctl disable --now chatctl.service || true
fi
`,
  postrm: `#!/bin/sh
set -e
${reloadSystemd}
`,
}

/**
 * Builds a binary package (deb(5)). The same input results in the same bytes.
 * @returns the path of the package, in `directory`
 */
export function buildDebianPackage(described: DebianPackage, directory: string): string {
  const version = debianVersion(described.version)
  // Not with the tilde of Debian's version, which GitHub replaces in names of files.
  const path = join(directory, `chatctl_${described.version}_${described.architecture}.deb`)
  const staged = mkdtempSync(join(tmpdir(), 'chatctl-deb-'))
  try {
    const write = (name: string, content: string | Buffer) => {
      mkdirSync(dirname(join(staged, name)), { recursive: true })
      writeFileSync(join(staged, name), content)
    }
    const compress = (name: string, content: string | Buffer) =>
      write(`${name}.gz`, gzipSync(content, { level: 9 }))
    const read = (name: string) => readFileSync(join(root, name))

    mkdirSync(join(staged, 'usr/bin'), { recursive: true })
    copyFileSync(described.executable, join(staged, 'usr/bin/chatctl'))
    for (const page of findManPages()) {
      const section = page.slice(-1)
      compress(`usr/share/man/man${section}/${basename(page)}`, read(page))
    }
    for (const [shell, name] of Object.entries(completions))
      write(`usr/share/${name}`, read(`src/cli/completion/scripts/chatctl.${shell}`))
    write('usr/lib/systemd/system/chatctl.service', read('scripts/release/chatctl.service'))
    write('usr/lib/sysusers.d/chatctl.conf', sysusers)
    const documentation = 'usr/share/doc/chatctl'
    write(`${documentation}/copyright`, writeCopyright(read('LICENSE').toString()))
    compress(`${documentation}/changelog`, writeChangelog(version, described))
    compress(`${documentation}/CHANGELOG.md`, read('CHANGELOG.md'))
    compress(`${documentation}/licenses.txt`, readFileSync(`${described.executable}.licenses.txt`))

    const files = listFiles(staged)
    const hashes = files.map((name) => `${md5(join(staged, name))}  ${name}\n`)
    write('DEBIAN/control', writeControl(described, version, installedSize(staged)))
    write('DEBIAN/md5sums', hashes.join(''))
    for (const [name, script] of Object.entries(maintainerScripts)) write(`DEBIAN/${name}`, script)
    setModes(staged)
    execFileSync('dpkg-deb', ['--root-owner-group', '-Zzstd', '--build', staged, path], {
      env: { ...process.env, SOURCE_DATE_EPOCH: String(described.time) },
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    return path
  } finally {
    rmSync(staged, { recursive: true, force: true })
  }
}

/** A version before a release, such as 1.0.0-beta.1, sorts before it only after a tilde (deb-version(7)). */
export function debianVersion(version: string): string {
  return version.replace('-', '~')
}

function findManPages(): string[] {
  const pages = globSync('man/*.[17]', { cwd: root }).sort()
  if (pages.length === 0) throw new Error('The man pages are missing. Write them with: npm run build')
  return pages
}

function writeControl(
  { architecture, maintainer, homepage }: DebianPackage,
  version: string,
  kibibytes: number,
): string {
  const { glibc, libstdcxx } = systemRequirements
  const { description } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const fields = {
    Package: 'chatctl',
    Version: version,
    Architecture: architecture,
    Maintainer: maintainer,
    'Installed-Size': kibibytes,
    Depends: `libc6 (>= ${glibc}), libgcc-s1, libstdc++6 (>= ${libstdcxx})`,
    // A keychain, the browser of a sign-in, and the clipboard.
    Suggests: 'gnome-keyring | keepassxc, xdg-utils, wl-clipboard | xclip | xsel',
    Section: 'net',
    Priority: 'optional',
    ...(homepage && { Homepage: homepage }),
    Description: `${lowerFirst(description)}
 chatctl chats in the terminal, manages users and permissions from scripts, and
 changes settings from CI with a plan that can be reviewed.
 .
 It includes the service itself, which stores its data in SQLite or PostgreSQL.`,
  }
  return Object.entries(fields)
    .map(([name, value]) => `${name}: ${value}\n`)
    .join('')
}

/** Debian Policy 3.4.1: the synopsis is no sentence. */
function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}

/** In the machine-readable format, in which the name of the MIT license is Expat. */
function writeCopyright(license: string): string {
  const [, holder = '', terms = ''] = /^Copyright \(c\) (.+)\n\n([\s\S]+)/m.exec(license) ?? []
  if (holder === '') throw new Error('LICENSE has no copyright notice')
  const text = terms.trim().split('\n')
  return `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: chatctl
Comment: The program contains Node.js and npm packages. Their copyright notices and
 licenses are in /usr/share/doc/chatctl/licenses.txt.gz.

Files: *
Copyright: ${holder}
License: Expat
${text.map((line) => ` ${line.trim() || '.'}\n`).join('')}`
}

/** In the format of deb-changelog(5). */
function writeChangelog(version: string, { maintainer, time }: DebianPackage): string {
  const date = new Date(time * 1000).toUTCString().replace('GMT', '+0000')
  return `chatctl (${version}) stable; urgency=medium

  * The changes are in /usr/share/doc/chatctl/CHANGELOG.md.gz.

 -- ${maintainer}  ${date}
`
}

/** Paths of the files, sorted. */
function listFiles(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)))
    .sort()
}

function md5(file: string): string {
  return createHash('md5').update(readFileSync(file)).digest('hex')
}

/** As dpkg-gencontrol computes it: whole KiB for each file, and 1 for each directory. */
function installedSize(directory: string): number {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true })
  return entries.reduce((sum, entry) => {
    if (!entry.isFile()) return sum + 1
    return sum + Math.ceil(readFileSync(join(entry.parentPath, entry.name)).length / 1024)
  }, 0)
}

/** Whatever the umask is. */
function setModes(directory: string): void {
  chmodSync(directory, 0o755)
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    const isScript = Object.keys(maintainerScripts).includes(relative(join(directory, 'DEBIAN'), path))
    const isProgram = isScript || path === join(directory, 'usr/bin/chatctl')
    chmodSync(path, entry.isDirectory() || isProgram ? 0o755 : 0o644)
  }
}
