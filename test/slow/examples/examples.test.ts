import { readDocumentExamples, readHelpExamples } from '../../docs/read-examples.ts'
import { runExamples } from '../../docs/run-examples.ts'
import { takeSample } from '../../support/take-sample.ts'
import { typeInShell } from './type-in-shell.ts'

const help = readHelpExamples()
const ofHelp = new Set([...help.values()].flat().map(({ text }) => text))

const documents = takeSample([...readDocumentExamples()], 4)
const title = `an example that only the documents have, in a shell (${documents.words})`
runExamples(title, new Map(documents.sample), { ...typeInShell, knows: (text) => !ofHelp.has(text) })

// These run every command of the built program.
const { sample, words } = takeSample([...help], 2)
runExamples(`an example in the help, in a shell (${words})`, new Map(sample), typeInShell)
