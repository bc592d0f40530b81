import { benchAdmin } from './admin.ts'
import { benchService } from './service/service.ts'
import { benchSignedIn } from './signed-in.ts'
import { benchStartup } from './startup.ts'
import { benchTalk } from './talk.ts'

const benches: Record<string, (rounds: number) => Promise<void>> = {
  startup: benchStartup,
  'signed-in': benchSignedIn,
  talk: benchTalk,
  admin: benchAdmin,
  service: benchService,
}
const [name = 'startup', rounds = '41'] = process.argv.slice(2)
const bench = benches[name]
if (!bench) {
  process.stderr.write(`There is no bench "${name}"; known: ${Object.keys(benches).join(', ')}\n`)
  process.exit(2)
}
await bench(Number(rounds))
