import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { additions } from '../../support/flag-table.ts'
import { commands } from '../../support/manifest.ts'
import { serveRuns } from '../../support/served-runs.ts'

/** Every declared flag has a visible effect. */

const tests = join(import.meta.dirname, '../..')
const otherTests = globSync('**/*.test.ts', { cwd: tests, exclude: ['node_modules/**'] })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => path !== 'cli/flags/flags.test.ts')
  .map((path) => ({ path, text: readFileSync(join(tests, path), 'utf8') }))

/** The tests that run the command, or cover its topic, as one text. */
const testsOf = new Map(
  commands.map(({ id }) => {
    const words = id.split(':')
    const calls = [`'${words.join("', '")}'`, `${words.join(' ')} `]
    const found = otherTests.filter(
      ({ path, text }) => path.startsWith(`${words[0]}/`) || calls.some((call) => text.includes(call)),
    )
    return [id, found.map(({ text }) => text).join('')]
  }),
)

describe('command flags', function () {
  this.timeout(60_000)
  const { run } = serveRuns()

  it('are all tested, here or in another test that runs the command with the flag', () => {
    const tried = new Set(additions.map(({ name }) => name))
    const declared = commands.flatMap(({ id, flags: own }) =>
      Object.values(own)
        .filter(({ helpGroup }) => helpGroup !== 'GLOBAL')
        .map(({ name, summary }) => ({ id, name, summary })),
    )
    const isTried = ({ id, name }: { id: string; name: string }) =>
      tried.has(`${id} ${name}`) || new RegExp(`--(no-)?${name}(?![\\w-])`).test(testsOf.get(id) ?? '')
    // Flags with the same summary are one declaration that several commands share.
    const isSame = (one: (typeof declared)[number]) => (other: typeof one) =>
      other.name === one.name && other.summary === one.summary
    const untried = declared.filter((flag) => !isTried(flag) && !declared.filter(isSame(flag)).some(isTried))
    const places = 'Use these flags in a test of their command, or add them to test/support/flag-table.ts'
    expect(untried, places).to.deep.equal([])
    const all = declared.map(({ id, name }) => `${id} ${name}`)
    const former = [...tried].filter((flag) => !all.includes(flag))
    expect(former, 'Remove these from test/support/flag-table.ts').to.deep.equal([])
  })

  for (const { name, to, words, ...adds } of additions)
    it(`change the request: ${name}`, async () => {
      const args = to.split(' ')
      const [without, given] = [await run(args), await run([...args, ...words])]
      const [before, after] = [without.requests[0], given.requests[0]]
      const elsewhere = `--${name.split(' ')[1]} does not change the request so. If it acts only in the client, test it in a test of the command, and remove "${name}" from \`added\` of test/support/flag-table.ts`
      expect(adds, elsewhere).to.have.any.keys('body', 'query', 'headers')
      expect(after, given.stderr).not.to.equal(undefined)
      if (adds.body) {
        expect(JSON.parse(after?.body || '{}'), elsewhere).to.deep.include(adds.body)
        expect(JSON.parse(before?.body || '{}'), elsewhere).not.to.deep.include(adds.body)
      }
      if (adds.query) expect(after?.path, elsewhere).to.equal(`${before?.path}?${adds.query}`)
      if (adds.headers) expect(after?.headers, elsewhere).to.include(adds.headers)
    })
})
