import { ActivityLog } from '../../src/activity/activity-log.ts'
import { Directories } from '../../src/system/files/directories.ts'

/** Appends lines to the activity record: NAME COUNT. */
const [name = '', count = '0'] = process.argv.slice(2)

const log = new ActivityLog(new Directories(process.env))
for (let line = 0; line < Number(count); line++) log.append(`${`${name} ${line}`.padEnd(30)}\n`)
log.close()
