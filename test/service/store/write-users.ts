import { once } from 'node:events'
import { localAuditContext } from '../../../src/service/domain/audit.ts'
import { updateSettings } from '../../../src/service/domain/settings.ts'
import { openStore } from '../../../src/service/store/open-store.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { plantUser } from '../plant-key.ts'

/**
 * A process of its own: opens the data when told to, writes so many users in a read-then-write
 * transaction each, and tells whether it made the data. It is told where, as JSON.
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
