import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BundledPackage } from './bundled-packages.ts'

const opening = `chatctl's own license is in the file LICENSE. Its program contains the packages below, each under
the license that follows its name.
`

/**
 * Composes the notices that the licenses of bundled packages require: name, version, and license text.
 *
 * @throws Error for a package without a known license or license text, which must not be shipped
 */
export function composeLicenses(root: string, packages: readonly BundledPackage[]): string {
  const sections = packages.map(({ name, version, directory }) => {
    const { license, author } = JSON.parse(readFileSync(join(root, directory, 'package.json'), 'utf8'))
    const text = readTexts(root, name, directory) || composeText(root, license, holderOf(name, author))
    if (!license || !text) throw new Error(`${name} ${version} has no license (${directory})`)
    return `=== ${name} ${version} (${license})\n\n${text}\n`
  })
  return [opening, ...sections].join('\n')
}

/**
 * Composes the notices of an executable, which also contains Node and a native add-on.
 *
 * @param addOn directory of the package with the add-on for the target
 * @param nodeVersion such as `24.21.0`
 */
export function composeExecutableLicenses(root: string, addOn: string, nodeVersion: string): string {
  const bundled = readFileSync(join(root, 'dist/licenses.txt'), 'utf8')
  const { name, version, license } = JSON.parse(readFileSync(join(addOn, 'package.json'), 'utf8'))
  const own = readFileSync(join(root, 'node_modules/@napi-rs/keyring/LICENSE'), 'utf8').trim()
  const crates = readFileSync(join(addOn, 'LICENSE.third-party.md'), 'utf8').trim()
  const node = readFileSync(join(root, `scripts/licenses/node-${nodeVersion}.txt`), 'utf8').trim()
  return [
    bundled,
    `=== ${name} ${version} (${license})\n\n${own}\n\n${crates}\n`,
    `=== node ${nodeVersion} (MIT)\n\n${node}\n`,
  ].join('\n')
}

/** The license files of the package, and the notices of the programs that it was compiled from. */
function readTexts(root: string, name: string, directory: string): string {
  const paths = readdirSync(join(root, directory))
    .filter((file) => /^[\w-]*(licen[cs]e|copying|notice)[\w-]*(\.(md|txt|markdown))?$/i.test(file))
    .sort()
    .map((file) => join(root, directory, file))
  const compiledFrom = join(root, 'scripts/licenses', `${name}.txt`)
  if (existsSync(compiledFrom)) paths.push(compiledFrom)
  return paths.map((file) => readFileSync(file, 'utf8').replaceAll('\r\n', '\n').trim()).join('\n\n')
}

/** For packages that name their license but do not include its text. */
function composeText(root: string, license: string | undefined, holder: string): string {
  if (license !== 'MIT') return ''
  return `Copyright (c) ${holder}\n\n${readFileSync(join(root, 'scripts/licenses/MIT.txt'), 'utf8').trim()}`
}

function holderOf(name: string, author: string | { name: string } | undefined): string {
  return (typeof author === 'string' ? author : author?.name) ?? `the authors of ${name}`
}
