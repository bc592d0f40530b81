import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BundledPackage } from './bundled-packages.ts'

const opening = `chatctl's own license is in the file LICENSE. Its program contains the packages below, each under
the license that follows its name.
`

/**
 * The notices that the licenses of bundled packages ask for: name, version, license and its text.
 *
 * @throws Error for a package whose license or text is not known: that one cannot be shipped
 */
export function composeLicenses(root: string, packages: readonly BundledPackage[]): string {
  const sections = packages.map(({ name, version, folder }) => {
    const { license, author } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
    const text = readTexts(root, name, folder) || composeText(root, license, holderOf(name, author))
    if (!license || !text) throw new Error(`${name} ${version} brings no license (${folder})`)
    return `=== ${name} ${version} (${license})\n\n${text}\n`
  })
  return [opening, ...sections].join('\n')
}

/** What the package brings, and what we know of the programs that it was compiled from. */
function readTexts(root: string, name: string, folder: string): string {
  const brought = readdirSync(join(root, folder))
    .filter((file) => /^[\w-]*(licen[cs]e|copying|notice)[\w-]*(\.(md|txt|markdown))?$/i.test(file))
    .sort()
    .map((file) => join(root, folder, file))
  const compiledFrom = join(root, 'scripts/licenses', `${name}.txt`)
  if (existsSync(compiledFrom)) brought.push(compiledFrom)
  return brought.map((file) => readFileSync(file, 'utf8').replaceAll('\r\n', '\n').trim()).join('\n\n')
}

/** For packages that name their license and leave its text out. */
function composeText(root: string, license: string | undefined, holder: string): string {
  if (license !== 'MIT') return ''
  return `Copyright (c) ${holder}\n\n${readFileSync(join(root, 'scripts/licenses/MIT.txt'), 'utf8').trim()}`
}

function holderOf(name: string, author: string | { name: string } | undefined): string {
  return (typeof author === 'string' ? author : author?.name) ?? `the authors of ${name}`
}
