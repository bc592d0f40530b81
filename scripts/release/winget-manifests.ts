import { stringify } from 'yaml'
import type { Release } from './describe-release.ts'

const manifestVersion = '1.10.0'

/**
 * The three files of a version for a repository of winget.
 *
 * @returns the text of each file by its name
 */
export function writeWingetManifests(release: Release): Map<string, string> {
  const { version, summary, license, date, project, owner, archives } = release
  const archive = archives['win-x64']
  if (!archive) throw new Error('winget needs the archive for win-x64')
  const package_ = { PackageIdentifier: `${owner}.chatctl`, PackageVersion: version }
  const manifests = {
    '': { type: 'version', content: { DefaultLocale: 'en-US' } },
    '.installer': {
      type: 'installer',
      content: {
        InstallerType: 'zip',
        NestedInstallerType: 'portable',
        NestedInstallerFiles: [{ RelativeFilePath: 'chatctl.exe', PortableCommandAlias: 'chatctl' }],
        ReleaseDate: date,
        Installers: [
          {
            Architecture: 'x64',
            InstallerUrl: archive.url,
            InstallerSha256: archive.sha256.toUpperCase(),
          },
        ],
      },
    },
    '.locale.en-US': {
      type: 'defaultLocale',
      content: {
        PackageLocale: 'en-US',
        Publisher: owner,
        PackageName: 'chatctl',
        PackageUrl: project,
        License: license,
        ShortDescription: summary,
        Moniker: 'chatctl',
        ReleaseNotesUrl: `${project}/releases/tag/v${version}`,
      },
    },
  }
  return new Map(
    Object.entries(manifests).map(([part, { type, content }]) => [
      `${package_.PackageIdentifier}${part}.yaml`,
      writeManifest(type, { ...package_, ...content }),
    ]),
  )
}

function writeManifest(type: string, content: object): string {
  const schema = `https://aka.ms/winget-manifest.${type}.${manifestVersion}.schema.json`
  const whole = { ...content, ManifestType: type, ManifestVersion: manifestVersion }
  return `# yaml-language-server: $schema=${schema}\n\n${stringify(whole, { lineWidth: 0 })}`
}
