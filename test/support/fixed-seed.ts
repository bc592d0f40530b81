import * as fc from 'fast-check'

/**
 * Required by .mocharc.json, so that `npm test` uses the same values in every run. The default of 100 runs would take
 * three times as long; test/slow/program/random-seeds.test.ts runs the properties with more.
 */
fc.configureGlobal({ seed: 20_260_101, numRuns: 30 })
