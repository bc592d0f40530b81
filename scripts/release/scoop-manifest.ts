import { archiveName, type Release } from './describe-release.ts'

/** A manifest for a bucket of the project. Scoop itself finds later versions with it. */
export function writeScoopManifest({
  version,
  summary,
  license,
  project,
  downloads,
  archives,
}: Release): string {
  const archive = archives['win-x64']
  if (!archive) throw new Error('Scoop needs the archive for win-x64')
  const manifest = {
    version,
    description: summary,
    homepage: project,
    license,
    architecture: { '64bit': { url: archive.url, hash: archive.sha256 } },
    bin: 'chatctl.exe',
    checkver: { github: project },
    autoupdate: {
      architecture: { '64bit': { url: `${downloads}/v$version/${archiveName('$version', 'win-x64')}` } },
      hash: { url: '$baseurl/SHASUMS256.txt' },
    },
  }
  return `${JSON.stringify(manifest, null, 4)}\n`
}
