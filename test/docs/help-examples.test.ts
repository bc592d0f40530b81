import { readHelpExamples } from './read-examples.ts'
import { runExamples } from './run-examples.ts'

runExamples('what the help tells to type', readHelpExamples())
