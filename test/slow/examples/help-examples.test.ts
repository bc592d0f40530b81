import { readHelpExamples } from '../../docs/read-examples.ts'
import { runExamples } from '../../docs/run-examples.ts'
import { typeInShell } from './type-in-shell.ts'

runExamples('what the help tells to type into a shell', readHelpExamples(), typeInShell)
