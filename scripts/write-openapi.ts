import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { composeOpenApi } from './openapi.ts'

/** `npm run docs` writes docs/openapi.json from the contract. */
writeFileSync(resolve(import.meta.dirname, '../docs/openapi.json'), composeOpenApi())
