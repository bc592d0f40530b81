import { benchAdmin } from './admin.ts'
import { type Bench, keepsBounds } from './measure.ts'
import { benchSearch } from './search.ts'
import { benchService } from './service/service.ts'
import { benchSignedIn } from './signed-in.ts'
import { benchStartup } from './startup.ts'
import { benchTalk } from './talk.ts'

/** With the number of rounds that it needs. */
const benches: Record<string, { bench: Bench; rounds: number }> = {
  startup: { bench: benchStartup, rounds: 41 },
  'signed-in': { bench: benchSignedIn, rounds: 31 },
  talk: { bench: benchTalk, rounds: 31 },
  search: { bench: benchSearch, rounds: 31 },
  admin: { bench: benchAdmin, rounds: 21 },
  service: { bench: benchService, rounds: 9 },
}
const words = process.argv.slice(2)
const check = words.includes('--check')
const [name, givenRounds] = words.filter((word) => word !== '--check')
const chosen = name === undefined ? Object.keys(benches) : [name]
if (name !== undefined && !benches[name]) {
  process.stderr.write(`There is no bench "${name}"; known: ${Object.keys(benches).join(', ')}\n`)
  process.exitCode = 2
}
for (const { bench, rounds } of chosen.flatMap((known) => benches[known] ?? [])) {
  const isKept = await keepsBounds(bench, Number(givenRounds ?? rounds), check)
  if (check && !isKept) process.exitCode = 1
}
