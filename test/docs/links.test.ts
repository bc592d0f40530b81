import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { expect } from 'chai'

const root = resolve(import.meta.dirname, '../..')
const documents = globSync('**/*.md', {
  cwd: root,
  exclude: (name) => /^(node_modules|dist|coverage|test)$/.test(name),
})
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

/** The anchors that GitHub generates for the headings. */
function anchorsOf(text: string): Set<string> {
  const headings = [...withoutCode(text).matchAll(/^#{1,6} (.+)$/gm)].map(([, title = '']) => title)
  return new Set(
    headings.map((title) =>
      title
        .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  )
}

function withoutCode(text: string): string {
  return text.replace(/^```[\s\S]*?^```/gm, '').replace(/^ {4}.*$/gm, '')
}

describe('documents', () => {
  it('include the README, the guides, and the architecture', () => {
    expect(documents).to.include.members(['README.md', 'CONTRIBUTING.md', 'docs/architecture.md'])
    expect(documents.length).to.be.above(20)
  })

  for (const document of documents) {
    it(`link only to files and headings that exist: ${document}`, () => {
      const text = withoutCode(read(document)).replace(/`[^`\n]*`/g, '')
      const links = [...text.matchAll(/\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)"/g)]
      for (const [, inline, attribute] of links) {
        const link = inline ?? attribute ?? ''
        if (/^[a-z]+:/.test(link)) continue
        const [path = '', anchor] = link.split('#')
        const target = path === '' ? document : join(dirname(document), path)
        expect(existsSync(join(root, target)), `${document}: ${link}`).to.equal(true)
        if (anchor !== undefined)
          expect([...anchorsOf(read(target))], `${document}: ${link}`).to.include(anchor)
      }
    })

    it(`name only files and scripts that exist: ${document}`, () => {
      const text = read(document)
      const paths = [...text.matchAll(/`((?:src|test|scripts|docs|bench|bin|\.ci)\/[\w./-]+)`/g)]
      for (const [, path = ''] of paths)
        expect(existsSync(join(root, path)), `${document}: ${path}`).to.equal(true)
      for (const [, script = ''] of text.matchAll(/`npm run ([\w:-]+)/g))
        expect(JSON.parse(read('package.json')).scripts, `${document}: npm run ${script}`).to.have.property(
          script,
        )
    })
  }

  it('can be reached from the README in at most two steps', () => {
    const linksOf = (document: string): string[] =>
      [...withoutCode(read(document)).matchAll(/\]\(([^)\s#]+)/g)]
        .filter(([, link = '']) => !/^[a-z]+:/.test(link))
        .map(([, link = '']) => join(dirname(document), link))
    const near = linksOf('README.md')
    const isFile = (path: string): boolean => statSync(join(root, path)).isFile()
    const reached = new Set([
      ...near,
      ...near.filter((path) => path.endsWith('.md') && isFile(path)).flatMap(linksOf),
    ])
    for (const document of documents.filter((path) => path !== 'README.md')) {
      const isNear = reached.has(document) || reached.has(dirname(document))
      expect(isNear, `Link ${document} in the README, or in a page that it links`).to.equal(true)
    }
  })

  it('list the terms of docs/reference/glossary.md in alphabetical order', () => {
    const terms = [...read('docs/reference/glossary.md').matchAll(/^- \*\*(.+?)\*\*: /gm)].map(
      ([, term]) => term,
    )
    expect(terms.length).to.be.above(30)
    expect(terms).to.deep.equal([...terms].sort((a = '', b = '') => a.localeCompare(b, 'en')))
  })

  it('list every decision in docs/decisions/README.md, with its title, status, and date', () => {
    const rows = read('docs/decisions/README.md').match(/^\| \d.*$/gm)
    const files = globSync('docs/decisions/[0-9]*.md', { cwd: root }).sort()
    const expected = files.map((file) => {
      const [, number, title, status, date] =
        /^# (\d+)\. (.+)\n\nStatus: (accepted|superseded by decision \d+), (\d{4}-\d\d-\d\d)\n\n/.exec(
          read(file),
        ) ?? []
      return `| ${number} | [${title}](${basename(file)}) | ${status} | ${date} |`
    })
    expect(files).to.have.length.above(15)
    expect(rows).to.deep.equal(expected)
  })

  it('separate each command from the paragraph above it', () => {
    const joined = documents.filter((document) => /^\S.*\n {4}(chatctl|npm) /m.test(read(document)))
    expect(joined).to.deep.equal([])
  })

  it('contain every heading of docs/interface.md that the code cites', () => {
    // A citation of "Model" means the heading "Model (element of the list …)".
    const titles = [...read('docs/interface.md').matchAll(/^#+ (.+?)(?: \(.*\))?$/gm)].map(
      ([, title]) => title,
    )
    const cited = globSync('{src,test,scripts,bench}/**/*.ts', {
      cwd: root,
      exclude: ['test/node_modules/**'],
    })
      .filter((file) => !file.endsWith('links.test.ts'))
      .flatMap((file) =>
        [
          ...read(file)
            .replace(/\n\s*(?:\*|\/\/) ?/g, ' ')
            .matchAll(/([\w/]*)interface\.md(?!'\))(?:, "([^"]+)")?/g),
        ].map(([, directory, title]) => ({ file, directory, title })),
      )
    expect(cited.length).to.be.above(40)
    const wrong = cited.filter(
      ({ directory, title }) => directory !== 'docs/' || !titles.includes(title ?? ''),
    )
    expect(wrong, 'Cite a heading: docs/interface.md, "Model"').to.deep.equal([])
  })

  it('name only source files that exist in docs/architecture.md', () => {
    // A path may omit its first directories, such as `read-lane.ts` next to `store/postgres/`.
    const sources = globSync('**/*.ts', { cwd: join(root, 'src') }).map((path) => path.replaceAll('\\', '/'))
    const named = [...read('docs/architecture.md').matchAll(/`(?:src\/)?([\w./-]+\.ts)`/g)]
    expect(named.length).to.be.above(50)
    for (const [, path = ''] of named) {
      const isThere = /^(test|scripts|bench)\//.test(path)
        ? existsSync(join(root, path))
        : sources.some((source) => source === path || source.endsWith(`/${path}`))
      expect(isThere, path).to.equal(true)
    }
  })

  it('list every layer in docs/architecture.md, and no other', () => {
    const drawing = /^src\/\n([\s\S]*?)^```/m.exec(read('docs/architecture.md'))?.[1] ?? ''
    const drawn = drawing
      .split('\n')
      .flatMap((line) => /^ {2}((?:[a-z]+\/ *)+)/.exec(line)?.[1]?.match(/[a-z]+\//g) ?? [])
    const there = globSync('src/*', { cwd: root }).map((path) =>
      path
        .replaceAll('\\', '/')
        .slice(4)
        .concat(statSync(join(root, path)).isDirectory() ? '/' : ''),
    )
    expect(drawn.sort()).to.deep.equal(there.sort())
  })
})
