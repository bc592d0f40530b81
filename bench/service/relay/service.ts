import { openAdministration } from '../../../src/service/administration/administration.ts'
import { startService } from '../../../src/service/start-service.ts'
import { tellCpu } from './tell-cpu.ts'

/** The embedded service in a separate process, with an empty data directory and an API key without limits. */
const [modelServer = '', dataDir = ''] = process.argv.slice(2)
const administration = await openAdministration({ dataDir })
const { key } = await administration.createKey({ name: 'bench', tier: 'enterprise' })
await administration.close()
const service = await startService({ dataDir, modelServer: { url: `${modelServer}/v1` } })
process.send?.({ port: Number(new URL(service.url).port), key })
tellCpu()
