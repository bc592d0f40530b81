import { readDocumentExamples } from '../../docs/read-examples.ts'
import { runExamples } from '../../docs/run-examples.ts'
import { typeInShell } from './type-in-shell.ts'

runExamples('what the documents tell to type into a shell', readDocumentExamples(), typeInShell)
