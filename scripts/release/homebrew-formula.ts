import type { Download, Release } from './describe-release.ts'

const systems = [
  { block: 'on_macos', arm: 'darwin-arm64', intel: 'darwin-x64' },
  { block: 'on_linux', arm: 'linux-arm64', intel: 'linux-x64' },
]

/** A formula that installs the executable, for a tap of the project. */
export function writeHomebrewFormula({ version, summary, license, project, archives }: Release): string {
  const blocks = systems.flatMap(({ block, arm, intel }) => {
    const choices = [...choose('on_arm', archives[arm]), ...choose('on_intel', archives[intel])]
    return choices.length === 0 ? [] : [`  ${block} do`, ...choices, '  end', '']
  })
  return `class Chatctl < Formula
  desc ${quote(summary)}
  homepage ${quote(project)}
  version ${quote(version)}
  license ${quote(license)}

${blocks.join('\n')}
  def install
    bin.install "chatctl"
    man1.install Dir["man/*.1"]
    man7.install Dir["man/*.7"]
    bash_completion.install "completions/chatctl.bash" => "chatctl"
    zsh_completion.install "completions/chatctl.zsh" => "_chatctl"
    fish_completion.install "completions/chatctl.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/chatctl --version")
  end
end
`
}

function choose(block: string, archive: Download | undefined): string[] {
  if (!archive) return []
  return [
    `    ${block} do`,
    `      url ${quote(archive.url)}`,
    `      sha256 ${quote(archive.sha256)}`,
    '    end',
  ]
}

/** A string of Ruby without interpolation. */
function quote(text: string): string {
  return `"${text.replaceAll(/["\\#]/g, '\\$&')}"`
}
