import { readDocumentExamples, readHelpExamples } from './read-examples.ts'
import { runExamples } from './run-examples.ts'
import { typeInProcess } from './type-in-process.ts'

const ofHelp = new Set([...readHelpExamples().values()].flat().map(({ text }) => text))
const readme = [...readDocumentExamples()].filter(([document]) => document === 'README.md')

// test/slow/examples/examples.test.ts runs those of all documents.
runExamples('an example that only the README has', new Map(readme), {
  ...typeInProcess,
  knows: (text) => typeInProcess.knows(text) && !ofHelp.has(text),
})
