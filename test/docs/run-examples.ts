import { expect } from 'chai'
import { perSuite } from '../support/lifetime.ts'
import type { Run } from '../support/run-chatctl.ts'
import { elsewhere, preparations, promisedCodes } from './example-tables.ts'
import { ExampleWorld, type Typist } from './example-world.ts'
import type { Example } from './read-examples.ts'

export type ExampleCheck = (text: string, run: Run) => void

/** Declares one test for each example, in order. The examples of a document share a world. */
export function runExamples(
  title: string,
  documents: ReadonlyMap<string, readonly Example[]>,
  typist: Typist,
  check: ExampleCheck = () => {},
): void {
  describe(title, function () {
    this.timeout(60_000)
    let first: ExampleWorld
    before(async function () {
      // The examples are written for a POSIX shell.
      if (process.platform === 'win32') return this.skip()
      first = await ExampleWorld.makeFirst(typist)
    })
    after(() => first?.end())

    const seen = new Set<string>(elsewhere.map(({ text }) => text))
    for (const [document, examples] of documents) {
      const runnable = examples.filter(({ text }) => {
        const isNew = typist.knows(text) && !seen.has(text)
        seen.add(text)
        return isNew
      })
      if (runnable.length === 0) continue
      describe(document, () => {
        const world = perSuite(() => first.begin())

        for (const { text } of runnable)
          it(`exits ${promisedCodes[text] ?? 0}: ${text}`, async () => {
            const run = await world.run(text, preparations[text])
            const { exitCode, stdout, stderr, typed } = run
            const tables =
              'test/docs/example-tables.ts lists what an example needs, and examples that cannot run'
            expect(exitCode, `${tables}\n${typed}\n${stdout}${stderr}`).to.equal(promisedCodes[text] ?? 0)
            check(text, run)
          })
      })
    }
  })
}
