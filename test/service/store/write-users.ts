import { once } from 'node:events'
import { localAuditContext } from '../../../src/service/domain/audit.ts'
import { updateSettings } from '../../../src/service/domain/settings.ts'
import { openStore } from '../../../src/service/store/open-store.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { plantUser } from '../domain/plant-key.ts'

/**
 * Separate process that opens the data when told to, writes users in one read-then-write transaction each,
 * and reports whether it created the data. Its first argument is the place as JSON.
 */
const [place = '', index = '', count = ''] = process.argv.slice(2)

process.send?.('ready')
await once(process, 'message')
const store = await openStore(JSON.parse(place))
for (let number = 0; number < Number(count); number++) {
  const id = `usr_${index}_${number}`
  await updateSettings(store.db, { app_name: id }, localAuditContext(systemClock))
  await plantUser(store.db, { id, email: id })
}
await store.close()
process.send?.(store.created)
process.disconnect()
