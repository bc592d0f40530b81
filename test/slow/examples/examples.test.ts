import { readDocumentExamples, readHelpExamples } from '../../docs/read-examples.ts'
import { runExamples } from '../../docs/run-examples.ts'
import { typeInProcess } from '../../docs/type-in-process.ts'
import { takeSample } from '../../support/take-sample.ts'
import { typeInShell } from './type-in-shell.ts'

runExamples('an example in the documents that needs a shell', readDocumentExamples(), {
  ...typeInShell,
  knows: (text) => !typeInProcess.knows(text),
})

// These run every command of the built program. npm test runs the same in process.
const { sample, words } = takeSample([...readHelpExamples()], 30)
runExamples(`an example in the help, in a shell (${words})`, new Map(sample), typeInShell)
