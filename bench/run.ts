import { benchAdmin } from './admin.ts'
import { benchExport } from './export.ts'
import { type Bench, keepsBounds } from './measure.ts'
import { benchSearch } from './search.ts'
import { benchService } from './service.ts'
import { benchStartup } from './startup.ts'

/** With the number of rounds that it needs. Those that take long have 3. */
const benches: Record<string, { bench: Bench; rounds: number }> = {
  startup: { bench: benchStartup, rounds: 41 },
  export: { bench: benchExport, rounds: 3 },
  search: { bench: benchSearch, rounds: 31 },
  admin: { bench: benchAdmin, rounds: 3 },
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
for (const known of chosen) {
  const { bench, rounds } = benches[known] ?? {}
  if (!bench) continue
  const times = Number(givenRounds ?? rounds)
  process.stdout.write(`${known}, medians of ${times} rounds in turn, Node ${process.versions.node}\n`)
  const isKept = await keepsBounds(bench, times, check)
  if (check && !isKept) process.exitCode = 1
}
