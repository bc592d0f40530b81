import { execFileSync } from 'node:child_process'
import { globSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** Debian's release. Its packages are the newest, with all security updates. */
const suite = 'trixie'

/** What an executable needs: a C library, a C++ library, and the directories and links of a system. */
const packages = ['base-files', 'libc6', 'libstdc++6']

/** Other files of these packages, and the awk that base-files depends on. */
const unused = [
  '/etc/update-motd.d/*',
  '/usr/bin/*',
  '/usr/lib/*/gconv/*',
  '/usr/share/base-files/*',
  '/usr/share/doc/mawk/*',
  '/usr/share/gcc/*',
  '/usr/share/gdb/*',
  '/usr/share/man/*',
]

/** Of the machine that extracts, or of apt and dpkg, which the image does not have. */
const leftovers = [
  'dev',
  'etc/{apt,dpkg,fstab,hostname,resolv.conf}',
  'var/{cache,log/*,lib/apt,lib/dpkg/[!s]*,lib/dpkg/status}',
]

/** Scanners for vulnerabilities read the versions there, as in images without dpkg. */
const recordPackages = `mkdir "$1/var/lib/dpkg/status.d"
for package in "$1"/var/cache/apt/archives/[!m]*.deb; do
  dpkg-deb --field "$package" >"$1/var/lib/dpkg/status.d/$(dpkg-deb --field "$package" Package)"
done`

/**
 * Extracts the base system of an image, without a shell or a package manager. Runs none of its programs, so
 * any architecture can be extracted. mmdebstrap verifies the signatures of Debian.
 *
 * @param architecture in Debian's words
 * @param directory does not exist yet
 */
export function extractBaseSystem(architecture: string, directory: string): void {
  execFileSync(
    'mmdebstrap',
    [
      '--quiet',
      '--variant=extract',
      `--architectures=${architecture}`,
      `--include=${packages.join(',')}`,
      ...unused.map((pattern) => `--dpkgopt=path-exclude=${pattern}`),
      `--extract-hook=${recordPackages}`,
      suite,
      directory,
    ],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  )
  for (const name of globSync(leftovers, { cwd: directory }))
    rmSync(join(directory, name), { recursive: true })
}
