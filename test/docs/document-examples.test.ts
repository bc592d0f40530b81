import { readDocumentExamples } from './read-examples.ts'
import { runExamples } from './run-examples.ts'

runExamples('what the documents tell to type', readDocumentExamples())
