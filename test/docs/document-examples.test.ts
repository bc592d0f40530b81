import { readDocumentExamples, readHelpExamples } from './read-examples.ts'
import { runExamples } from './run-examples.ts'
import { typeInProcess } from './type-in-process.ts'

const ofHelp = new Set([...readHelpExamples().values()].flat().map(({ text }) => text))

runExamples('an example that only the documents have', readDocumentExamples(), {
  ...typeInProcess,
  knows: (text) => typeInProcess.knows(text) && !ofHelp.has(text),
})
