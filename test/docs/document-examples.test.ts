import { readDocumentExamples } from './read-examples.ts'
import { runExamples } from './run-examples.ts'
import { typeInProcess } from './type-in-process.ts'

runExamples('an example in the documents', readDocumentExamples(), typeInProcess)
