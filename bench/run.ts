import { benchAdmin } from './admin.ts'
import { benchSearch } from './search.ts'
import { benchService } from './service/service.ts'
import { benchSignedIn } from './signed-in.ts'
import { benchStartup } from './startup.ts'
import { benchTalk } from './talk.ts'

const benches: Record<string, (rounds: number, check: boolean) => Promise<void>> = {
  startup: benchStartup,
  'signed-in': benchSignedIn,
  talk: benchTalk,
  search: benchSearch,
  admin: benchAdmin,
  service: benchService,
}
const words = process.argv.slice(2)
const check = words.includes('--check')
const [name = 'startup', rounds = '41'] = words.filter((word) => word !== '--check')
const bench = benches[name]
if (!bench) fail(`There is no bench "${name}"; known: ${Object.keys(benches).join(', ')}`)
else if (check && name !== 'startup') fail('Only the start-up has bounds that --check compares with')
else await bench(Number(rounds), check)

function fail(message: string): void {
  process.stderr.write(`${message}\n`)
  process.exitCode = 2
}
