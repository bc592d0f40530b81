import * as fc from 'fast-check'

/** Required by .mocharc.json: `npm test` tries the same values every time. */
fc.configureGlobal({ seed: 20_260_101 })
