import { passwordCost } from '../../src/service/domain/access/passwords.ts'

/** What the service uses, for the test that expects it. */
export const realCost = { ...passwordCost }

/** Required by .mocharc.json: the hashes of passwords would take a tenth of the time of `npm test`. */
Object.assign(passwordCost, { memoryCost: 64, timeCost: 1 })
