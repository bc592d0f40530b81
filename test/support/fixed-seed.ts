import * as fc from 'fast-check'

/** Required by .mocharc.json, so that `npm test` uses the same values in every run. */
fc.configureGlobal({ seed: 20_260_101 })
