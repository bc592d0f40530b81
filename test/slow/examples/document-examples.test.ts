import { readDocumentExamples } from '../../docs/read-examples.ts'
import { runExamples } from '../../docs/run-examples.ts'
import { typeInShell } from './type-in-shell.ts'

runExamples('examples of the documentation in a shell', readDocumentExamples(), typeInShell)
