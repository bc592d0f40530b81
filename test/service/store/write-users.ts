import { once } from 'node:events'
import { localAuditContext } from '../../../src/service/domain/audit.ts'
import { updateSettings } from '../../../src/service/domain/settings.ts'
import { type DataLocation, openStore } from '../../../src/service/store/open-store.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { plantUser } from '../domain/plant-key.ts'

/** Opens the data, writes users in one read-then-write transaction each, and returns whether it created the data. */
export async function writeUsers(place: DataLocation, index: number, count: number): Promise<boolean> {
  const store = await openStore(place)
  for (let number = 0; number < count; number++) {
    const id = `usr_${index}_${number}`
    await updateSettings(store.db, { app_name: id }, localAuditContext(systemClock))
    await plantUser(store.db, { id, email: id })
  }
  await store.close()
  return store.created
}

/** A separate process, which begins when told to. Its first argument is the place as JSON. */
if (import.meta.main) {
  const [place = '', index = '', count = ''] = process.argv.slice(2)
  process.send?.('ready')
  await once(process, 'message')
  process.send?.(await writeUsers(JSON.parse(place), Number(index), Number(count)))
  process.disconnect()
}
