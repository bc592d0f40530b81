import { readDocumentExamples } from './read-examples.ts'
import { runExamples } from './run-examples.ts'
import { typeInProcess } from './type-in-process.ts'

runExamples('what the documents tell to type', readDocumentExamples(), typeInProcess)
